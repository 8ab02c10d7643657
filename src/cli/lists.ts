// Lists, which operations answer in parts.
import type { Page, PageRequest } from "../common/domain.ts";
import { unusable } from "../common/errors.ts";
import type { Operation } from "../management/operation.ts";
import { createCursorCheck, eachPage } from "../database/page.ts";
import type { Arguments } from "./arguments.ts";
import type { Call, CommandContext, Outcome } from "./command.ts";
import { show } from "./command.ts";

type Listing<Input, Item> = Operation<Input & PageRequest & object, Page<Item>>;

const largestPage = 1000;

/** How many of the newest entries are listed, unless set. */
export const listLimit = 50;

/** The parts of a list, up to its end. */
export const pagesOf = <Input extends object, Item>(
  call: Call,
  operation: Listing<Input, Item>,
  input: Input,
): AsyncGenerator<Item[]> => eachPage((cursor) => readPage(call, operation, { ...input, limit: largestPage, cursor }));

/** All of a list. */
export async function readAll<Input extends object, Item>(
  call: Call,
  operation: Listing<Input, Item>,
  input: Input,
): Promise<Item[]> {
  const items: Item[] = [];
  for await (const page of pagesOf(call, operation, input)) items.push(...page);
  return items;
}

/** Shows all of a list. */
export const listAll = async <Input extends object, Item>(
  call: Call,
  operation: Listing<Input, Item>,
  input: Input,
): Promise<Outcome> => show(await readAll(call, operation, input));

/** What is wrong with the options of a list of newest entries, together. */
export function checkNewest(args: Arguments): string | undefined {
  if (!args.has("all")) return undefined;
  if (args.findNumber("limit") !== undefined) return "--all and --limit exclude each other";
  return args.has("page") ? "--all and --page exclude each other" : undefined;
}

/**
 * As many of the newest entries as `--limit` says, from `--cursor` on, or all; the remark says how to see more. `--page` puts
 * that into the data.
 */
export async function listNewest<Input extends object, Item extends object>(
  { args, call, terminal }: CommandContext,
  operation: Listing<Input, Item>,
  input: Input,
): Promise<Outcome> {
  const wanted = args.has("all") ? Infinity : args.findNumber("limit") ?? listLimit;
  const items: Item[] = [];
  const check = createCursorCheck();
  let cursor = args.findText("cursor");
  // A part may be short, and even empty, though there are more.
  do {
    const limit = Math.min(largestPage, wanted - items.length);
    const page = await readPage(call, operation, { ...input, limit, cursor });
    if (page.nextCursor !== null) check(page.nextCursor);
    items.push(...page.items);
    cursor = page.nextCursor ?? undefined;
    terminal.report(`Found ${items.length}`);
  } while (items.length < wanted && cursor !== undefined);
  const more = cursor === undefined ? undefined : `More: --cursor ${cursor}`;
  const rows = items.map((item) => timeFirst(item as Record<string, unknown>));
  if (!args.has("page")) return { data: items, rows, note: more };
  return { data: { items, nextCursor: cursor ?? null }, rows, note: args.json ? undefined : more };
}

/** When it was is what people look for in a log. */
const timeFirst = ({ createdAt, ...item }: Record<string, unknown>) =>
  createdAt === undefined ? item : { createdAt, ...item };

async function readPage<Input extends object, Item>(
  call: Call,
  operation: Listing<Input, Item>,
  input: Input & PageRequest,
): Promise<Page<Item>> {
  const page = await call(operation, input);
  // Whatever answers under a URL need not be a promptledger service.
  if (!Array.isArray(page.items)) throw unusable("The answer is no list: is this a promptledger service?");
  return page;
}
