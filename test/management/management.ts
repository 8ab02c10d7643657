// Helpers for tests of management: reading answers, and lists page by page.
import * as assert from "uvu/assert";
import { promptFile } from "../helpers.ts";
import type { Answer, World } from "../helpers.ts";

/** The JSON of an answer, after checking its status. */
export function taken<T = Record<string, unknown>>(answer: Answer, status = 200): T {
  assert.is(answer.status, status, answer.text);
  return answer.json as T;
}

type RefusalBody = { error: string; code?: string; field?: string; expected?: string };

/**
 * Asserts that an answer is a refusal with exactly this message. One of a face has a code for programs too, and if the message
 * names a field, its path.
 */
export function refused(answer: Answer, status: number, error: string): void {
  const { code, field, expected, ...others } = answer.json as RefusalBody;
  assert.equal([answer.status, others], [status, { error }]);
  if (code === undefined) return assert.equal([field, expected], [undefined, undefined]);
  assert.match(code, /^[a-z]+(_[a-z]+)*$/);
  const [, named, words] = /^Field (.+?) must be (.*)$/.exec(error) ?? [];
  if (words !== undefined) assert.equal({ field, expected }, { field: named, expected: words });
  const [, other] = /^(?:Missing required field |Unknown field )(.+?)(?:\. |$)/.exec(error) ?? [];
  if (other !== undefined) assert.is(field, other);
}

/** Asserts that answers are refusals with this status and code. */
export function refusedAs(status: number, code: string, ...answers: Answer[]): void {
  for (const answer of answers) {
    assert.equal([answer.status, (answer.json as { code: string }).code], [status, code], answer.text);
  }
}

/** Publishes the prompt file with changes. */
export const publish = (world: World, body: object) =>
  world.manage("POST", `/workspaces/${world.workspaceId}/publish`, { ...promptFile, ...body });

/** All pages of a list. `between` runs after each. */
export async function readPages<T>(world: World, path: string, between?: () => Promise<void>): Promise<T[][]> {
  const pages: T[][] = [];
  let cursor: string | null | undefined;
  do {
    const separator = path.includes("?") ? "&" : "?";
    const answer = await world.manage("GET", cursor === undefined ? path : `${path}${separator}cursor=${cursor}`);
    const page = taken<{ items: T[]; nextCursor: string | null }>(answer);
    assert.equal(Object.keys(page), ["items", "nextCursor"]);
    pages.push(page.items);
    cursor = page.nextCursor;
    await between?.();
  } while (cursor !== null);
  return pages;
}

/** All entries of a list. */
export const readAll = async <T>(world: World, path: string): Promise<T[]> => (await readPages<T>(world, path)).flat();

/** The documents of an export, one per line. */
export const toLines = <T = object>(text: string): T[] =>
  text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line) as T);

/** The response of verify if these are all ledgers, and they balance. */
export const balancedBooks = <Ledger>(ledgers: Ledger[]) => ({
  balanced: true,
  total: ledgers.length,
  unbalanced: 0,
  ledgers,
});

/** A query string, without undefined members. */
export function toQuery(parameters: Record<string, string | number | undefined>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.set(name, String(value));
  return `?${query}`;
}

/** The whole content of the database as text, except some tables. */
export async function dump({ database }: World, ...others: string[]): Promise<string> {
  const names = await database.read({ sql: "select name from sqlite_master where type = 'table'" });
  const tables = names.filter(({ name }) => !others.includes(name as string));
  const rows = await Promise.all(tables.map(({ name }) => database.read({ sql: `select * from "${name}"` })));
  return JSON.stringify(rows);
}
