// Compares the versions of prompts with the content hashes in the audit log.
import { isMaskOf } from "../../common/ids.ts";
import type { Database, Row } from "../../database/database.ts";
import { integer, integerOrNull, text, textOrNull } from "../../database/row.ts";
import type { RowFault } from "./audit-faults.ts";
import { bytesOfVersion, contentHash, pushesOf } from "../prompts/versions.ts";

const pageRows = 64;
const pageBytes = 1024 * 1024; // of the texts of versions: some 10 ms, in which nothing else runs

// One statement reads all rows from one moment.
const pageSql = `
  with page as materialized (
    select prompt_id, version, row_number() over wanted as nth,
      sum(bytes) over (wanted rows unbounded preceding) as bytes
    from (
      select prompt_id, version, ${bytesOfVersion} as bytes from prompt_versions
      where (prompt_id, version) > (:promptId, :version) order by prompt_id, version limit ${pageRows}
    ) window wanted as (order by prompt_id, version)
  ), pushes as materialized (${pushesOf("select prompt_id from page")})
  select v.*, e.position, e.note as logged_note, e.after ->> 'hash' as logged_hash,
    exists (select 1 from prompts p join deleted_workspaces d on d.id = p.workspace_id where p.id = v.prompt_id) as is_deleted,
    v.version > 1 and not exists (
      select 1 from prompt_versions where prompt_id = v.prompt_id and version = v.version - 1
    ) as has_gap
  from page cross join prompt_versions v on v.prompt_id = page.prompt_id and v.version = page.version
  left join pushes on pushes.prompt_id = v.prompt_id and pushes.version = v.version
  left join audit_log e on e.position = pushes.position
  where nth = 1 or bytes <= ${pageBytes}
  order by v.prompt_id, v.version`;

/** Calls `add` with each version that disagrees with the log, or follows one that is missing. */
export async function findVersionFaults(
  database: Database,
  logStart: number | undefined,
  add: (fault: RowFault) => void,
): Promise<void> {
  for (let promptId = "", version = 0;;) {
    const rows = await database.read({ sql: pageSql, args: { promptId, version } });
    for (const row of rows) {
      promptId = text(row, "prompt_id");
      version = integer(row, "version");
      if (row.is_deleted === 1) continue;
      const position = integerOrNull(row, "position");
      const addOne = (what: RowFault["what"], version: number, members: string[] = []) =>
        add({ what, noun: "version", id: `${promptId}:${version}`, members, position });
      if (row.has_gap === 1) addOne("removed", version - 1);
      const isOlder = logStart !== undefined && integer(row, "created_at") <= logStart;
      if (position === null && !isOlder) addOne("added", version);
      const members = position === null ? [] : await differingMembers(row);
      if (members.length > 0) addOne("changed", version, members);
    }
    if (rows.length === 0) return;
  }
}

async function differingMembers(row: Row): Promise<string[]> {
  const [title, description, messages, llmConfig] = ["title", "description", "messages", "llm_config"]
    .map((column) => text(row, column)) as [string, string, string, string];
  const declarations = textOrNull(row, "declarations");
  const texts = { title, description, messages, llmConfig, ...(declarations === null ? {} : { declarations }) };
  const isSame = await contentHash(texts) === row.logged_hash;
  const isSameNote = isMaskOf(textOrNull(row, "logged_note") ?? "", text(row, "note"));
  return [...isSame ? [] : ["content"], ...isSameNote ? [] : ["note"]];
}
