// Rows of prompts and prompt_versions. Versions are only ever added.
import type {
  Page,
  PageRequest,
  Prompt,
  PromptContent,
  PromptVersion,
  PromptVersionSummary,
} from "../common/domain.ts";
import { jsonText } from "../common/json-text.ts";
import type { Database, Row, Statement } from "../database/database.ts";
import { readPage } from "../database/page.ts";
import { integer, text } from "../database/row.ts";

/** Stores a new prompt with its version 1. */
export async function createPrompt(database: Database, prompt: PromptVersion & { workspaceId: string }): Promise<void> {
  await database.write([
    {
      sql: "insert into prompts (id, workspace_id, created_at) values (?, ?, ?)",
      args: [prompt.id, prompt.workspaceId, prompt.createdAt],
    },
    addVersion(prompt.id, prompt, prompt.note, prompt.createdAt),
  ]);
}

/**
 * Adds the next version, unless the newest one has the same content already.
 * Gives the newest version then, and whether it is new.
 */
export async function addPromptVersion(
  database: Database,
  promptId: string,
  content: PromptContent,
  note: string,
  now: number,
): Promise<{ prompt: PromptVersion; isNew: boolean }> {
  const [added, newest] = await database.write([addVersion(promptId, content, note, now), {
    sql: "select * from prompt_versions where prompt_id = ? order by version desc limit 1",
    args: [promptId],
  }]);
  return { prompt: newest!.map(toPromptVersion)[0]!, isNew: added!.length > 0 };
}

type Condition = { sql: string; args: Record<string, string | number | null> };

/** Adds the next version where a condition holds, unless the newest has the same content. Gives a row where it did. */
export const addVersion = (
  promptId: string,
  content: PromptContent,
  note: string,
  now: number,
  condition: Condition = { sql: "true", args: {} },
): Statement => ({
  sql: `
    insert into prompt_versions (prompt_id, version, title, description, messages, llm_config, note, created_at)
    select :promptId, coalesce(newest.version, 0) + 1, :title, :description, :messages, :llmConfig, :note, :now
    from (select max(version) as version from prompt_versions where prompt_id = :promptId) newest
    where ${condition.sql} and not exists (
      select 1 from prompt_versions
      where prompt_id = :promptId and version = newest.version and title = :title and description = :description
        and messages = :messages and llm_config = :llmConfig
    )
    returning version`,
  args: {
    ...condition.args,
    promptId,
    title: content.title,
    description: content.description,
    messages: content.messages.text,
    llmConfig: content.llmConfig.text,
    note,
    now,
  },
});

const selectPrompts = `
  select p.id, p.workspace_id, p.created_at, v.version, v.title
  from prompts p join prompt_versions v on v.prompt_id = p.id
    and v.version = (select max(version) from prompt_versions where prompt_id = p.id)`;

export async function findPrompt(database: Database, id: string): Promise<Prompt | undefined> {
  return (await database.read({ sql: `${selectPrompts} where p.id = ?`, args: [id] })).map(toPrompt)[0];
}

/** The prompts of a workspace, newest first. */
export function listPrompts(database: Database, workspaceId: string, request: PageRequest): Promise<Page<Prompt>> {
  const sql = `${selectPrompts} where p.workspace_id = :workspaceId and p.id < coalesce(:cursor, '~')
    order by p.id desc limit :rows`;
  return readPage(database, request, (page) => ({ sql, args: { workspaceId, ...page } }), toPrompt, ({ id }) => id);
}

/** One version, or the newest where none is named. */
export async function findPromptVersion(
  database: Database,
  promptId: string,
  version: number | undefined,
): Promise<PromptVersion | undefined> {
  const rows = await database.read({
    sql: `select * from prompt_versions where prompt_id = ? and version = coalesce(?, version)
      order by version desc limit 1`,
    args: [promptId, version ?? null],
  });
  return rows.map(toPromptVersion)[0];
}

/** The versions of a prompt without their content, newest first. */
export function listPromptVersions(
  database: Database,
  promptId: string,
  request: PageRequest,
): Promise<Page<PromptVersionSummary>> {
  const sql = `select version, title, note, created_at from prompt_versions
    where prompt_id = :promptId and version < coalesce(cast(:cursor as integer), ${Number.MAX_SAFE_INTEGER})
    order by version desc limit :rows`;
  const query = (page: { cursor: string | null; rows: number }) => ({ sql, args: { promptId, ...page } });
  return readPage(database, request, query, toSummary, ({ version }) => version);
}

const toSummary = (row: Row): PromptVersionSummary => ({
  version: integer(row, "version"),
  title: text(row, "title"),
  note: text(row, "note"),
  createdAt: integer(row, "created_at"),
});

const toPrompt = (row: Row): Prompt => ({
  id: text(row, "id"),
  workspaceId: text(row, "workspace_id"),
  title: text(row, "title"),
  latestVersion: integer(row, "version"),
  createdAt: integer(row, "created_at"),
});

export const toPromptVersion = (row: Row): PromptVersion => ({
  id: text(row, "prompt_id"),
  version: integer(row, "version"),
  title: text(row, "title"),
  description: text(row, "description"),
  messages: jsonText(text(row, "messages")),
  llmConfig: jsonText(text(row, "llm_config")),
  note: text(row, "note"),
  createdAt: integer(row, "created_at"),
});
