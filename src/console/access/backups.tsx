// State of the service's backups: for people who may see all workspaces.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import type { BackupState } from "../../management/upkeep/backup-notices.ts";
import { ageText, ago, sizeText } from "../frame/format.tsx";
import { Fragment, h, isolated } from "../frame/html.ts";
import type { Part } from "../frame/html.ts";
import type { ConsoleRequest } from "../frame/page.ts";
import { Fact, Facts, Notice, Section } from "../frame/elements.tsx";

/** Empty if the service cannot make backups, or for people who may see one workspace alone. */
export function Backups({ visit }: { visit: ConsoleRequest }): Part {
  const { backups, caller, now } = visit;
  if (backups === undefined || caller.workspaceId !== undefined) return undefined;
  return (
    <Section title="Backups of the service">
      {backups === "off"
        ? (
          <p>
            None are made by schedule. Set <code>BACKUP_TO</code> to make them.
          </p>
        )
        : <State state={backups} now={now} />}
    </Section>
  );
}

const State = ({ state: { place, every, newest, failure }, now }: { state: BackupState; now: number }): Part => (
  <>
    {failure !== undefined && (
      <Notice kind="error">
        Backups fail, last {ago(failure.at, now)}: {isolated(failure.cause)}
      </Notice>
    )}
    <Facts>
      <Fact label="Place" code={place} />
      <Fact label="Newest">
        {newest === undefined ? "none yet" : [ago(newest.createdAt, now), ", ", sizeText(newest.bytes, "bytes")]}
      </Fact>
      <Fact label="Next">{ageText(every)} after the newest</Fact>
    </Facts>
  </>
);
