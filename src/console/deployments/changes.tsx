// Change requests: those that the visitor may decide, and all of a workspace.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { listChangeRequests } from "../../management/deployments/change-request-operations.ts";
import { Fragment, h } from "../frame/html.ts";
import { queryValue, workspaceOf } from "../frame/page.ts";
import type { Page } from "../frame/page.ts";
import { changesTable } from "./change-parts.tsx";
import { Empty, Pager, Section } from "../frame/elements.tsx";

const pageSize = 25;

export const changesPage: Page = {
  path: "/:workspaceId/changes",
  async show(visit) {
    const { id: workspaceId } = workspaceOf(visit);
    const [waiting, all] = await Promise.all([
      visit.call(listChangeRequests, {
        ...{ workspaceId, waiting: true, limit: pageSize, cursor: queryValue(visit, "waiting") },
      }),
      visit.call(listChangeRequests, { workspaceId, limit: pageSize, cursor: queryValue(visit, "cursor") }),
    ]);
    return {
      title: "Changes",
      heading: "Changes",
      lede: "Changes of deployments that need the approval of another person.",
      body: (
        <>
          <Section title="Waiting for you">
            {waiting.items.length > 0
              ? changesTable(visit, "Waiting for you", waiting.items)
              : <p class="none">Nothing waits for your approval.</p>}
            <Pager next={waiting.nextCursor} href={(cursor) => `?waiting=${cursor}`} />
          </Section>
          <Section title="All">
            {all.items.length > 0
              ? changesTable(visit, "All changes", all.items)
              : (
                <Empty title="No change request yet">
                  Protect a deployment and have its changes need an approval. Promotions to it are then here.
                </Empty>
              )}
            <Pager next={all.nextCursor} href={(cursor) => `?cursor=${cursor}`} />
          </Section>
        </>
      ),
    };
  },
};
