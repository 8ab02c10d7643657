// A page and its request: operations of management, called by the person who is signed in.
import type { Page as ListPage } from "../../common/domain.ts";
import type { BackupState } from "../../management/upkeep/backup-notices.ts";
import { wrongField } from "../../common/errors.ts";
import type { Refusal } from "../../common/errors.ts";
import { stringify } from "../../common/json-text.ts";
import type { Answer } from "../../http/respond.ts";
import { allNouns } from "../../management/kernel/nouns.ts";
import type { nouns } from "../../management/kernel/nouns.ts";
import { hasRole, protectedRole } from "../../management/kernel/operation.ts";
import type { Export } from "../../management/kernel/export.ts";
import type { Caller, Operation } from "../../management/kernel/operation.ts";
import type { Workspace } from "../../management/kernel/workspaces.ts";
import { parseObject } from "../../schema/parse.ts";
import type { Unchecked } from "../../schema/parse.ts";
import { groupBy } from "../../support/group-by.ts";
import type { Html, Part } from "./html.ts";

type SectionOf<Noun> = Noun extends { section: { path: infer Path } } ? Path : never;
/** A part of the console, as its navigation has it. */
export type Section = "overview" | SectionOf<(typeof nouns)[keyof typeof nouns]>;

const ofNouns = [...allNouns.values()].flatMap(({ section }) => section ?? []);
/** The navigation: the activity of a workspace, and its settings. */
export const navigation: readonly { path: string; title: string }[][] = [
  [{ path: "overview", title: "Overview" }, ...ofNouns.filter(({ isSetup }) => !isSetup)],
  ofNouns.filter(({ isSetup }) => isSetup),
];
/** The titles of the parts, by their paths. */
export const sectionTitles: ReadonlyMap<string, string> = new Map(
  navigation.flat().map(({ path, title }) => [path, title]),
);

/** One request of a person who is signed in. */
export type ConsoleRequest = {
  caller: Caller;
  /** True if there is a session to sign out of. A person whom a proxy signs in has no session. */
  hasSession: boolean;
  /** The workspace in the path of the page. */
  workspace: Workspace | undefined;
  params: Record<string, string>;
  query: URLSearchParams;
  /** Fields that a form sent. Empty for a page that is only viewed. */
  form: URLSearchParams;
  /** Refusal of the form's change. The page is shown again with the entered values. */
  refusal: Refusal | undefined;
  /** The relative path of the console: `../`. */
  root: string;
  /** The URL of the service as the browser reaches it, without a slash at its end. Pages show it by `Address`. */
  address: string;
  /** Now, in Unix ms. */
  now: number;
  /** State of the service's backups. Undefined if it cannot make them by schedule. */
  backups: BackupState | "off" | undefined;
  /** Calls an operation as the person who is signed in. */
  call: Call;
  /** Answers with the text of an export, as a file to keep. */
  download(exported: Export): Answer;
};

/** `part` is the range of the page's progress, from 0 to 1, that a long operation takes, if the page has several. */
export type Call = <Input extends object, Output>(
  operation: Operation<Input, Output>,
  input: Input,
  part?: readonly [from: number, to: number],
) => Promise<Output>;

/** Contents of a page. The title distinguishes browser tabs. */
export type View = {
  title: string;
  /** Page header: a title with breadcrumbs, a sentence and actions. Without it, the body has its own. */
  heading?: Part;
  lede?: Part;
  actions?: Part;
  /** The page above this one, if that is not the one of its section, whose link may have a query. */
  parent?: { label: Part; href: string } | undefined;
  sectionQuery?: Query;
  /** Notices of changes that led here, by their word in the query. */
  done?: Readonly<Record<string, Part>>;
  body: Html;
  /** The reason of a refusal that the page shows. */
  kind?: Refusal["kind"];
  /** Styles a page that is as wide as its window. */
  isWide?: boolean;
};

/** The result of a change: a page to show, or one to go to. */
export type ActResult = View | { redirect: string };

type Place = { path: string };

/** Pages whose paths begin with another word than that of their section. */
const elsewhere: Partial<Record<string, Section>> = { agreement: "records", session: "sessions" };

/** The part of the console that a page belongs to. */
export function sectionOf({ path }: Place): Section | undefined {
  const [, start, name = "overview"] = path.split("/");
  if (start !== ":workspaceId") return undefined;
  return sectionTitles.has(name) ? name as Section : elsewhere[name];
}

/** A page at a path below the console. A change is sent to the page that shows it, and is refused without `act`. */
export type Page = Place & {
  show(visit: ConsoleRequest): Promise<View>;
  act?(visit: ConsoleRequest): Promise<ActResult>;
};

/** A path whose answer is not a page but a file, a text or a redirect. */
export type Resource = Place & { answer(visit: ConsoleRequest): Promise<Answer> };

/** The workspace of a page whose path names one. */
export function workspaceOf({ workspace }: ConsoleRequest): Workspace {
  if (workspace === undefined) throw new TypeError("The path of the page names no workspace");
  return workspace;
}

type Query = Record<string, string | number | null | undefined>;

/** The address of a page of this workspace, relative to the page that is shown, and as short as it can be. */
export function link(visit: ConsoleRequest, path: readonly string[] = [], query: Query = {}): string {
  const { id } = workspaceOf(visit), { root } = visit;
  const isBelow = root.startsWith("../") && path.length > 0;
  const parts = isBelow ? path : [id, ...path];
  return (isBelow ? root.slice("../".length) : root) + parts.map(encodeURIComponent).join("/") + queryText(query);
}

/** The address of a part of the console. */
export const sectionAddress = (visit: ConsoleRequest, section: string): string =>
  link(visit, section === "overview" ? [] : [section]);

/** The query of an address, without members that are missing or empty. */
function queryText(query: Query): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === null || value === "" ? [] : [[name, String(value)] as const]
  );
  return given.length === 0 ? "" : `?${new URLSearchParams(Object.fromEntries(given))}`;
}

/** The input of an operation, checked as strictly as that of a request to the API. */
export const toInput = (input: object): Unchecked => parseObject(stringify(input));

/** Trimmed form field; undefined if empty. */
export const formValue = ({ form }: ConsoleRequest, name: string): string | undefined =>
  form.get(name)?.trim() || undefined;

/** Trimmed query value; undefined if empty. */
export const queryValue = ({ query }: ConsoleRequest, name: string): string | undefined =>
  query.get(name)?.trim() || undefined;

/** The query of the page for links, each name once. Several values of one name become a list. */
export const queryOf = ({ query }: ConsoleRequest): Record<string, string> =>
  Object.fromEntries([...new Set(query.keys())].map((name) => [name, query.getAll(name).join(",")]));

/** The version that the query has under a name. Throws if it is not an integer from 1. */
export function queryVersion(visit: ConsoleRequest, name: string): number | undefined {
  const text = queryValue(visit, name);
  if (text === undefined) return undefined;
  if (!/^[1-9]\d{0,14}$/.test(text)) throw wrongField(name, "an integer from 1");
  return Number(text);
}

/** The word that the query has under a name. Throws if it is not one of `words`. */
export function queryWord<const Word extends string>(
  visit: ConsoleRequest,
  name: string,
  words: readonly Word[],
): Word | undefined {
  const text = queryValue(visit, name), word = words.find((each) => each === text);
  if (word === undefined && text !== undefined) {
    throw wrongField(name, `${words.length > 1 ? "one of " : ""}${words.join(", ")}`);
  }
  return word;
}

/** True if a box is checked in the query. Throws if its value is not that of a checked box. */
export const isChecked = (visit: ConsoleRequest, name: string): boolean =>
  queryWord(visit, name, ["yes"]) !== undefined;

type Guarded = { role: Caller["role"] };

/** The least role that may call an operation, on a protected deployment if that is what it changes. */
const leastRole = ({ role }: Guarded, isProtected: boolean): Caller["role"] =>
  isProtected && !hasRole({ role }, protectedRole) ? protectedRole : role;

/** Explains which role an operation needs. */
export function missingRole({ caller }: ConsoleRequest, operation: Guarded, isProtected = false): string | undefined {
  const least = leastRole(operation, isProtected);
  if (hasRole(caller, least)) return undefined;
  return `This needs the role ${least}${
    isProtected ? " because the deployment is protected" : ""
  }. You are signed in as ${caller.role}.`;
}

/** Names the roles for several operations by label: `Roll back and Archive need the role publisher.` */
export function missingRoles(
  { caller }: ConsoleRequest,
  operations: readonly (readonly [label: string, operation: Guarded])[],
  isProtected = false,
): string | undefined {
  const lacking = operations.map(([label, operation]) => ({ label, least: leastRole(operation, isProtected) }))
    .filter(({ least }) => !hasRole(caller, least));
  if (lacking.length === 0) return undefined;
  const needs = [...groupBy(lacking, ({ least }) => least)].map(([least, all]) =>
    `${wordList.format(all.map(({ label }) => label))} need${all.length === 1 ? "s" : ""} the role ${least}`
  );
  return `${needs.join(", and ")}${
    isProtected ? "; the deployment is protected" : ""
  }. You are signed in as ${caller.role}.`;
}

const wordList = new Intl.ListFormat("en-GB");

type List<T> = (page: { limit: number; cursor: string | undefined }) => Promise<ListPage<T>>;

const pageSize = 1_000;

/** Maximum number of items on a page that shows a whole list. */
export const mostItems = 5_000;

/** Up to `most` items of a list, and the cursor of the next ones, or null after the last. */
export async function listMost<T>(list: List<T>, cursor?: string, most = mostItems): Promise<ListPage<T>> {
  const items: T[] = [];
  let next: string | null | undefined = cursor;
  do {
    const page: ListPage<T> = await list({ limit: Math.min(pageSize, most - items.length), cursor: next ?? undefined });
    items.push(...page.items);
    next = page.nextCursor;
  } while (next !== null && items.length < most);
  return { items, nextCursor: next };
}

/** All items of a list that is short, such as the deployments of a prompt. */
export const listAll = async <T>(list: List<T>): Promise<T[]> => (await listMost(list, undefined, Infinity)).items;
