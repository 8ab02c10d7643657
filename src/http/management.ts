// The management API, a face. Each operation is a route that reads its input from path, query, headers and body.
import {
  fieldInUrl,
  givenTwice,
  invalidRevision,
  invalidTokenOption,
  managementContended,
  managementOff,
  managementOverloaded,
  noRevision,
  Refusal,
  revisionInBody,
  tooManyFailures,
} from "../common/errors.ts";
import { adminTokenFault } from "../common/config.ts";
import { readingAside } from "../database/database.ts";
import { yielding } from "../database/yielding.ts";
import { createSlots } from "../common/slots.ts";
import type { Slots } from "../common/slots.ts";
import { groups, operations } from "../management/index.ts";
import { perform } from "../management/operation.ts";
import type { AnyOperation, Caller, Store } from "../management/operation.ts";
import { parseObject } from "../schema/parse.ts";
import type { Unchecked } from "../schema/parse.ts";
import { schemaOf } from "../schema/struct.ts";
import { readText } from "./body.ts";
import type { Context, RequestContext } from "./context.ts";
import type { FaceDescription } from "./face.ts";
import { createLongAnswer } from "./long-answer.ts";
import type { LongAnswer } from "./long-answer.ts";
import { createGate, tokenOf } from "./management-access.ts";
import type { Gate, ManagementFace } from "./management-access.ts";
import { adminPath, describeOperations, pathMembers } from "./management-openapi.ts";
import { setId } from "./log-context.ts";
import { readQuery } from "./query.ts";
import { created, ok, refuse } from "./respond.ts";
import { allowOnly, createRouter } from "./router.ts";
import type { RouterType } from "./router.ts";

/** The state of the face in one service. */
type Shared = { store: Store; answerLong: LongAnswer };

/** The same for one request, and who sent it. */
type State = Shared & { caller: Caller };

const maxLongWork = 8; // at once
const slotTimeout = 5_000; // ms that further long work waits, and a change for those before it
const maxWaitingChanges = 1_000;
// ms after which a response starts even if it is not ready. Clients, proxies and Bun close a connection that is silent
// for a minute or longer.
const defaultQuietMs = 20_000;

/** `adminToken` is the operator's own and may do everything. It has at least 32 printable ASCII characters. */
type ManagementOptions = { adminToken?: string | undefined; tokens?: boolean | undefined };

/**
 * The management API, under `/admin/v1`. Every request needs `adminToken` or a management token. With `tokens` it is on
 * without `adminToken` too. With neither every request gets 404 with the code `management_off`.
 */
export const management = (options: ManagementOptions): ManagementFace =>
  managementWith(options, () => createSlots(maxLongWork, slotTimeout, managementOverloaded));

/** The same with its own limits. A response begins after `quietMs`; a change waits `changeTimeout` ms for those before it. */
export function managementWith(
  { adminToken, tokens = false }: ManagementOptions,
  boundLongWork: () => Slots,
  { quietMs = defaultQuietMs, changeTimeout = slotTimeout }: { quietMs?: number | undefined; changeTimeout?: number } =
    {},
): ManagementFace {
  const isOn = adminToken !== undefined || tokens;
  const fault = adminToken === undefined ? undefined : adminTokenFault(adminToken);
  if (fault !== undefined) throw invalidTokenOption(fault);
  return {
    path: adminPath,
    access: isOn ? { adminToken } : undefined,
    secrets: adminToken === undefined ? [] : [adminToken],
    mount(basePath) {
      const router = createRouter(basePath);
      if (isOn) addOperations(router, createGate(adminToken));
      else router.all(`${adminPath}/*`, () => refuse(managementOff(), {}, true));
      return ({ database, clock, metrics }) => {
        // Long work has a queue of its own, so that short requests do not wait for its slices.
        const openStore = (): Store => ({ database: yielding(readingAside(database)), clock });
        const changes = createSlots(1, changeTimeout, managementContended, maxWaitingChanges);
        const answerLong = createLongAnswer(openStore(), boundLongWork(), quietMs);
        const shared: Shared = { store: { ...openStore(), changes }, answerLong };
        if (!isOn) return (ctx, context) => router.fetch(ctx, context, shared);
        const count = metrics.counter(
          "promptledger_management_refusals_total",
          "Management requests refused for their token: missing, invalid, a role too low, or too many failures",
          ["reason"],
          ["missing", "invalid", "forbidden", "limited"],
        );
        return async (ctx, context) => {
          try {
            const answer = await router.fetch(ctx, context, { ...shared });
            if (answer?.error === "rate_limited") count("limited");
            return answer;
          } catch (error) {
            const reason = error instanceof Refusal ? reasonOf(error) : undefined;
            if (reason !== undefined) count(reason);
            throw error;
          }
        };
      };
    },
    describe: () => isOn ? describeOperations(groups) : nothing,
  };
}

const nothing: FaceDescription = { tags: {}, methods: [], structs: [], responses: {} };

/** The label of a refusal in the metrics. */
function reasonOf({ kind, code }: Refusal): string | undefined {
  if (kind === "unauthorized") return code === "invalid_token" ? "invalid" : "missing";
  return kind === "forbidden" ? "forbidden" : undefined;
}

/** Every path below `adminPath` requires a token, even one that does not exist. */
function addOperations(router: RouterType, authenticate: Gate): void {
  router.all(`${adminPath}/*`, async ({ request, requestId, logContext }: RequestContext, _: Context, state: State) => {
    const authenticated = await authenticate(tokenOf(request), state.store);
    if ("retryAfter" in authenticated) {
      return refuse(tooManyFailures(), { "Retry-After": String(authenticated.retryAfter) }, true);
    }
    const { caller } = authenticated;
    if (caller.tokenId !== undefined) logContext.tokenId = caller.tokenId;
    state.caller = { ...caller, requestId };
    return undefined;
  });
  const methods = new Map<string, string[]>();
  for (const operation of operations) {
    const path = adminPath + operation.path.replace(/{(\w+)}/g, ":$1");
    router[operation.method.toLowerCase()]!(path, manage(operation));
    methods.set(path, [...methods.get(path) ?? [], operation.method]);
  }
  for (const [path, allowed] of methods) router.all(path, allowOnly(allowed.join(", "), true));
}

/** Makes the handler of an operation. */
const manage = (operation: AnyOperation) => async (ctx: RequestContext, context: Context, state: State) => {
  for (const id of Object.values(ctx.params)) setId(ctx.logContext, id);
  const input = await readInput(operation, ctx, context);
  if (operation.isLong) return await state.answerLong(operation, input, state.caller, ctx, context);
  const output = await perform(operation, { ...state.store, caller: state.caller }, input);
  const headers = hasRevision(output) ? { ETag: `"${output.revision}"` } : {};
  const path = operation.locate?.(output);
  if (path === undefined) return ok(output, headers);
  return created(output, { Location: toReference(path, operation, ctx.request), ...headers });
};

/**
 * A path below `adminPath` as a reference relative to the URL of the request. A host may strip the path that it mounts the
 * service under, so the service does not know its full URL.
 */
function toReference(path: string, operation: AnyOperation, { url }: Request): string {
  const [trailingSlashes] = /\/*$/.exec(new URL(url).pathname)!;
  const levels = operation.path.split("/").length - 2 + trailingSlashes.length;
  return "../".repeat(levels) + path.slice(1);
}

/** The input of an operation as the text of a JSON object. JSON that the client sent stays as written. */
async function readInput(operation: AnyOperation, ctx: RequestContext, context: Context): Promise<Unchecked> {
  const { request, params } = ctx;
  const { method, input: { schema } } = operation;
  const sent: Unchecked = method === "GET" || method === "DELETE"
    ? { value: readQueryMembers(operation, request) }
    : parseObject(await readText(ctx, context) || "{}");
  const inUrl = pathMembers(operation);
  for (const name of inUrl) if (Object.hasOwn(sent.value, name)) throw fieldInUrl(name);
  if (Object.hasOwn(sent.value, "ifRevision")) throw revisionInBody();
  const others = inUrl.map((name) => [name, toValue(schema[name]!, decode(params[name]!))]);
  const match = request.headers.get("If-Match")?.trim() ?? "*";
  if (match !== "*" && method !== "GET") {
    if (!("ifRevision" in schema)) throw noRevision();
    others.push(["ifRevision", readRevision(match)]);
  }
  return { ...sent, value: { ...sent.value, ...Object.fromEntries(others) } };
}

function readQueryMembers({ input: { schema } }: AnyOperation, request: Request): object {
  const members = new Map<string, string | number | boolean>();
  for (const [name, text] of readQuery(request)) {
    if (members.has(name)) throw givenTwice(name);
    members.set(name, Object.hasOwn(schema, name) ? toValue(schema[name]!, text) : text);
  }
  return Object.fromEntries(members);
}

/** A text of the URL as JSON: a number or a boolean if the schema expects one and the text is one, else a string. */
function toValue(struct: object, text: string): string | number | boolean {
  const { type } = schemaOf(struct);
  if (type === "boolean" && /^(true|false)$/.test(text)) return text === "true";
  return type === "integer" && /^(0|-?[1-9]\d{0,15})$/.test(text) ? Number(text) : text;
}

/** A malformed encoding stays as it is. It matches no id. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The revision that an entity tag names, or 0, which no deployment has, for a weak tag or one from elsewhere. */
function readRevision(header: string): number {
  const [, weak, tag] = /^(W\/)?"([\x21\x23-\x7e]*)"$/.exec(header) ?? [];
  if (tag === undefined) throw invalidRevision();
  return weak === undefined && /^[1-9]\d{0,14}$/.test(tag) ? Number(tag) : 0;
}

const hasRevision = (output: unknown): output is { revision: number } =>
  typeof output === "object" && output !== null && "revision" in output;
