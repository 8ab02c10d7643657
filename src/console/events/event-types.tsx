// The types of events with their meaning. Each links to its events.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { eventTypes } from "../../management/kernel/event-types.ts";
import { breakable, Fragment, h } from "../frame/html.ts";
import { link } from "../frame/page.ts";
import type { Page } from "../frame/page.ts";
import { Table } from "../frame/elements.tsx";

export const eventTypesPage: Page = {
  path: "/:workspaceId/audit/types",
  // deno-lint-ignore require-await -- a page returns a promise
  async show(visit) {
    return {
      title: "Types of events",
      heading: "Types of events",
      lede: (
        <>
          Each entry of the audit log is an event, which webhooks and <code>promptledger events</code> get.{" "}
          <code>deployment.*</code> means all of a noun.
        </>
      ),
      body: (
        <Table
          caption="Types of events"
          rows={Object.entries(eventTypes)}
          columns={[
            {
              label: "Type",
              isHead: true,
              cell: ([type]) => <a href={link(visit, ["audit"], { action: type })}>{breakable(type)}</a>,
            },
            { label: "Meaning", isMain: true, cell: ([, meaning]) => meaning },
          ]}
        />
      ),
    };
  },
};
