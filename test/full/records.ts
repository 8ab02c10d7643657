// The records of a full workspace, and the feedback on them.
import { bounds } from "../../src/support/bounds.ts";
import { maxNames } from "../../src/feedback/feedback.ts";
import type { Database } from "../../src/database/database.ts";
import { noon } from "../actions.ts";
import type { Tenant } from "../helpers.ts";
import { control, label, nameOfN, nthLabel, rowsOf, wide } from "./rows.ts";
import type { Size } from "./rows.ts";

/** Names of feedback, of which those with labels have as many bytes of them as there may be. */
export async function fillNames(database: Database, { workspaceId }: Tenant): Promise<void> {
  const labels = JSON.stringify(Array.from({ length: bounds.labelsOfName }, (_, nth) => nthLabel(nth)));
  const declared = Math.floor(bounds.labelBytes / new TextEncoder().encode(labels).length);
  await database.write([rowsOf("feedback_names", maxNames, {
    ...{ workspace_id: ":workspaceId", name: nameOfN, kind: "'label'", is_declared: "1" },
    labels: `iif(n < ${declared}, :labels, null)`,
  }, { workspaceId, labels })]);
}

const perCommit = 200; // records

/** Records of many sessions, models, statuses and versions. The first ones are large, and some have all the feedback that fits. */
export async function fillRecords(
  database: Database,
  { workspaceId, deployId, keyId }: Tenant,
  { records, judged, contentBytes }: Size,
): Promise<{ recordId: string; judgedId: string; newest: number }> {
  const commits = Math.ceil(records / perCommit), month = "2026-11", args = { at: noon - 3_600_000 };
  const document = (input: string) =>
    JSON.stringify({
      ...{ sessionId: "s", status: 1, content: { input, output: "Out" }, latency: 10, model: "gpt-5" },
      additional_properties: { prompt_tokens: 5, completion_tokens: 7 },
    });
  const of = { workspaceId, deployId, keyId };
  await database.write([
    { sql: "delete from commits", args: [] },
    rowsOf("commits", commits, {
      ...{ position: `1 + n * ${perCommit}`, next_position: `1 + (n + 1) * ${perCommit}`, month: `'${month}'` },
      ...{ id: `printf('%024x', n)`, created_at: ":at" },
    }, args),
    rowsOf("calls", commits, {
      ...{ position: `1 + n * ${perCommit}`, count: `${perCommit}`, number: `1 + n * ${perCommit}` },
      ...{ workspace_id: ":workspaceId", api_key_id: ":keyId", deployment_id: ":deployId", prompt_version: "1" },
      operation: "'submit'",
    }, of),
    {
      sql: "insert into quota_usage (workspace_id, month, reads, submits) values (?, ?, 0, ?)",
      args: [workspaceId, month, commits * perCommit],
    },
  ]);
  const large = 40; // records with documents as large as a body
  await database.write([rowsOf("diagnoses", commits * perCommit, {
    ...{ position: "n + 1", deployment_id: ":deployId", prompt_version: "1 + n % 150", status: "n % 120" },
    ...{ session_id: `iif(n % 2, 's', :session || (n % 1000))`, measures: `'10,5,7,[0,"m' || (n % 300) || '"]'` },
    document: `iif(n < ${large}, :large, :small)`,
  }, { deployId, session: wide.repeat(250), large: document("x".repeat(contentBytes)), small: document("Hello") })]);

  // The newest records have the feedback, since lists begin with them.
  const newest = commits * perCommit, { names, authors, changes, commentBytes } = judged;
  const piece = {
    ...{ position: ":newest - n / :perRecord", name: `printf('${"n".repeat(59)}%04d', n % :names)` },
    ...{ author: "printf('%0128d', n / :names % :authors)", value: ":label", comment: ":comment", source: "'user'" },
    given_at: ":at",
  };
  const comment = control.repeat(commentBytes);
  const voices = { newest, names, authors, perRecord: names * authors, label, comment, ...args };
  await database.write([
    rowsOf("feedback", judged.records * names * authors, { ...piece, change: ":changes + 1" }, { ...voices, changes }),
  ]);
  for (let change = 1; change <= changes; change++) {
    await database.write([
      rowsOf("earlier_feedback", names * authors, { ...piece, change: ":change", ended_at: ":at + :change" }, {
        ...voices,
        change,
      }),
    ]);
  }
  const idAt = (position: number) => {
    const slot = (position - 1) % perCommit, commit = (position - 1 - slot) / perCommit;
    return `diag_${commit.toString(16).padStart(24, "0")}${slot.toString(16).padStart(2, "0")}`;
  };
  return { recordId: idAt(1), judgedId: idAt(newest), newest };
}
