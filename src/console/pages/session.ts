// A session: its records in a deployment, oldest first, with bars in time.
import type { DeploymentId } from "../../common/ids.ts";
import { getDeployment } from "../../management/deployments.ts";
import { listDiagnoses } from "../../management/records.ts";
import { counted } from "../format.ts";
import { isolated, markup } from "../html.ts";
import { asked, link, workspaceOf } from "../page.ts";
import type { Page } from "../page.ts";
import { empty } from "../parts/empty.ts";
import { heading } from "../parts/heading.ts";
import { recordsTable } from "./records.ts";

const mostRecords = 200;

export const sessionPage: Page = {
  path: "/:workspaceId/session",
  section: "records",
  async show(visit) {
    const sessionId = asked(visit, "id") ?? "", deployId = (asked(visit, "deployment") ?? "") as DeploymentId;
    const { id: workspaceId } = workspaceOf(visit);
    const deployment = await visit.call(getDeployment, { id: deployId, workspaceId });
    const { items } = await visit.call(listDiagnoses, { deployId, workspaceId, sessionId, limit: mostRecords });
    return {
      title: `Session ${sessionId.slice(0, 60)}`,
      isWide: true,
      body: markup`${
        heading({
          title: markup`Session ${isolated(sessionId.slice(0, 200))}`,
          trail: [{ label: "Records", href: link(visit, ["records"], { deployment: deployId }) }],
          lede: markup`${counted(items.length, "record")} in ${isolated(deployment.reference)}, oldest first.`,
        })
      }${
        items.length === 0
          ? empty("No records", "This session has none in this deployment.")
          : recordsTable(visit, [...items].reverse())
      }`,
    };
  },
};
