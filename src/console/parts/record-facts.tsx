// What pages say of a record beside its content.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import type { Deployment } from "../../management/deployments.ts";
import type { Diagnosis } from "../../schema/ledger.ts";
import { duration, exactTime } from "../format.tsx";
import { breakable, Fragment, h, isolated } from "../html.ts";
import type { Html } from "../html.ts";
import { link } from "../page.ts";
import type { Visit } from "../page.ts";
import { valuesOf } from "../record-values.ts";
import { statusChip, versionLink } from "./chips.tsx";
import { Fact } from "./elements.tsx";

type RecordFactsProps = { visit: Visit; record: Diagnosis; deployment: Deployment };

/** The facts that every page of a record begins with. */
export function RecordFacts({ visit, record, deployment }: RecordFactsProps): Html {
  const { status, sessionId: session, latency } = valuesOf(record), { rollout } = record;
  return (
    <>
      <Fact label="Status">{statusChip(visit, status)}</Fact>
      <Fact label="Recorded">{exactTime(record.createdAt)}</Fact>
      <Fact label="Latency">{duration(latency)}</Fact>
      <Fact label="Version">{versionLink(visit, deployment.promptId, record.promptVersion)}</Fact>
      <Fact label="Deployment">
        <a href={link(visit, ["deployments", deployment.id])}>{breakable(deployment.reference)}</a>
      </Fact>
      {typeof rollout === "string" && (
        <Fact label="Rollout">
          <a href={link(visit, ["deployments", deployment.id, "rollout"], { rollout })}>
            Both versions
          </a>
        </Fact>
      )}
      <Fact label="Session">
        <a href={link(visit, ["session"], { id: session })}>{isolated(session.slice(0, 200))}</a>
      </Fact>
    </>
  );
}
