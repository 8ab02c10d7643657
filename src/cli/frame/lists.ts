// Lists, which operations return in pages.
import type { Page, PageRequest } from "../../common/domain.ts";
import { unusable } from "../../common/errors.ts";
import type { Operation } from "../../management/kernel/operation.ts";
import { createCursorCheck, eachPage } from "../../database/page.ts";
import type { Arguments } from "./arguments.ts";
import type { Call, CommandContext, Outcome } from "./command.ts";

type Listing<Input, Item> = Operation<Input & PageRequest & object, Page<Item>>;

export const maxPageSize = 1000;

/** Default number of the newest entries in a list. */
export const listLimit = 50;

/** All pages of a list. */
export const pagesOf = <Input extends object, Item>(
  call: Call,
  operation: Listing<Input, Item>,
  input: Input,
): AsyncGenerator<Item[]> => eachPage((cursor) => readPage(call, operation, { ...input, limit: maxPageSize, cursor }));

/** All items of a list. */
export async function readAll<Input extends object, Item>(
  call: Call,
  operation: Listing<Input, Item>,
  input: Input,
): Promise<Item[]> {
  const items: Item[] = [];
  for await (const page of pagesOf(call, operation, input)) items.push(...page);
  return items;
}

/** Shows all items of a list. */
export async function listAll<Input extends object, Item>(
  call: Call,
  operation: Listing<Input, Item>,
  input: Input,
  toRow?: (item: Item) => Record<string, unknown>,
): Promise<Outcome> {
  const data = await readAll(call, operation, input);
  return { data, ...toRow && { rows: data.map(toRow) } };
}

/** Finds list options that exclude each other. */
export function checkNewest(args: Arguments): string | undefined {
  if (!args.has("all")) return undefined;
  if (args.findNumber("limit") !== undefined) return "--all and --limit exclude each other";
  return args.has("page") ? "--all and --page exclude each other" : undefined;
}

/**
 * Lists the newest entries from `--cursor` on, up to `--limit`, or all. The note explains how to see more. With
 * `--page` the data has the next cursor too.
 */
export async function listNewest<Input extends object, Item extends object>(
  { args, call, terminal }: CommandContext,
  operation: Listing<Input, Item>,
  input: Input,
  toRow: (item: Item) => Record<string, unknown> = timeFirst,
): Promise<Outcome> {
  const max = args.has("all") ? Infinity : args.findNumber("limit") ?? listLimit;
  const items: Item[] = [];
  const check = createCursorCheck();
  let cursor = args.findText("cursor");
  // A page may be short or even empty although more follow.
  do {
    const limit = Math.min(maxPageSize, max - items.length);
    const page = await readPage(call, operation, { ...input, limit, cursor });
    if (page.nextCursor !== null) check(page.nextCursor);
    items.push(...page.items);
    cursor = page.nextCursor ?? undefined;
    terminal.report(`Found ${items.length}`);
  } while (items.length < max && cursor !== undefined);
  const more = cursor === undefined ? undefined : `More: --cursor ${cursor}`;
  const rows = items.map(toRow);
  if (!args.has("page")) return { data: items, rows, note: more };
  return { data: { items, nextCursor: cursor ?? null }, rows, note: args.json ? undefined : more };
}

/** People look for the time of an entry first. */
function timeFirst(item: object): Record<string, unknown> {
  const { createdAt, ...rest } = item as { createdAt?: unknown };
  return createdAt === undefined ? rest : { createdAt, ...rest };
}

/** A page of an operation's list. The URL may be that of another server. */
export async function readPage<Input extends object, Output extends { items: unknown[] }>(
  call: Call,
  operation: Operation<Input, Output>,
  input: Input,
): Promise<Output> {
  const page = await call(operation, input);
  if (!Array.isArray(page.items)) throw unusable("Unexpected response. Is this a promptledger server?");
  return page;
}
