// The management API, a face. Each operation is a route that reads its input from path, query, headers and body.
import { bounds } from "../support/bounds.ts";
import { contended, managementOff, managementOverloaded, Refusal, tooManyFailures } from "../common/errors.ts";
import { groupBy } from "../support/group-by.ts";
import { readingAside } from "../database/database.ts";
import { yielding } from "../database/yielding.ts";
import { createShares } from "../common/shares.ts";
import { createKeptTallies } from "../tallies/kept-tallies.ts";
import { createSlots } from "../support/slots.ts";
import type { Slots } from "../support/slots.ts";
import { adminOf } from "../management/admin.ts";
import type { Admin } from "../management/admin.ts";
import { groups, operations } from "../management/index.ts";
import { ownerOf, perform } from "../management/kernel/operation.ts";
import type { AnyOperation, Caller, Store } from "../management/kernel/operation.ts";
import { whileUnread } from "../http/body.ts";
import type { Context, RequestContext } from "../http/context.ts";
import { createExports } from "./exports.ts";
import { adminPath } from "../http/face.ts";
import type { FaceDescription, FaceHost } from "../http/face.ts";
import { createLongAnswer } from "./long-answer.ts";
import type { LongAnswer } from "./long-answer.ts";
import { authenticate, createGate } from "./management-access.ts";
import type { Gate, ManagementAccess, ManagementFace } from "./management-access.ts";
import { readInput } from "./management-input.ts";
import { describeOperations } from "./management-openapi.ts";
import { setId } from "../http/log-context.ts";
import type { People } from "./sign-in/people.ts";
import { accepted, created, ok, refuse } from "../http/respond.ts";
import type { HeaderValues } from "../http/respond.ts";
import { allowOnly, createRouter } from "../http/router.ts";
import type { RouterType } from "../http/router.ts";
import { checkBeside, checkOptions, tokenFault } from "../http/settings.ts";
import type { Checks } from "../http/settings.ts";

/** The state of the face in one service. */
type Shared = ManagementAccess & { answerLong: LongAnswer };

/** State of one request, with its caller. */
type State = Shared & { caller: Caller };

// Of each, one owner gets half.
const { longRequests: maxLongWork, waitingReaders: maxWaiters, waitingChanges: maxWaitingChanges } = bounds;
const slotTimeout = 5_000; // ms that further long work waits, and a change for those before it
// ms after which a response starts even if it is not ready. Clients, proxies and Bun close a connection that is silent
// for a minute or longer.
const defaultQuietMs = 20_000;

/** `adminToken` is the operator's own and allows everything. It has at least 32 printable ASCII characters. */
type ManagementOptions = { adminToken?: string | undefined; tokens?: boolean | undefined };

/** Options without any sign-in. */
type OffOptions = { adminToken?: undefined; tokens?: false | undefined };

const name = "management()";

const checks: Checks = {
  adminToken: tokenFault,
  tokens: (value: unknown) => typeof value === "boolean" ? undefined : "must be true or false",
};

/** Members that management adds: every operation as a function, for the embedder, who needs no token. */
export type ManagementMembers = { admin: Admin };

/**
 * Management. Its API is under `/admin/v1`, where every request needs `adminToken` or a management token. With `tokens`
 * it is on without `adminToken` too. With neither every request gets 404 with the code `management_off`. Code of the
 * same process needs no token: each operation is a function of `service.admin`.
 *
 * @example
 * const service = createService({ database: "file:ledger.db", faces: [management()] });
 * const { id } = await service.admin.createWorkspace({ name: "Acme", monthlyLimit: 10_000 });
 */
export function management(options?: OffOptions): ManagementFace<ManagementMembers> & { readonly isOn: false };
export function management(options: ManagementOptions): ManagementFace<ManagementMembers>;
export function management(options: ManagementOptions = {}): ManagementFace<ManagementMembers> {
  return managementWith(options);
}

/**
 * `management` with other limits. A response begins after `quietMs`; a change waits `changeTimeout` ms for those before
 * it. `people` sign in with their company's account.
 */
export function managementWith(
  options: ManagementOptions,
  boundLongWork: () => Slots = () => createSlots(maxLongWork, slotTimeout, managementOverloaded),
  { quietMs = defaultQuietMs, changeTimeout = slotTimeout, people, ...sending }:
    & { quietMs?: number | undefined; changeTimeout?: number; people?: People | undefined }
    & Pick<Store, "urlFault" | "onWebhook"> = {},
): ManagementFace<ManagementMembers> {
  checkOptions("management", options, checks);
  const { adminToken, tokens = false } = options;
  const isOn = adminToken !== undefined || tokens;
  const secrets = [...adminToken === undefined ? [] : [adminToken], ...people?.secrets ?? []];
  const opened = new WeakMap<FaceHost, ManagementAccess>();

  /** Opens a service for management requests and embedding code, which share this. */
  function open(host: FaceHost, gate: Gate, people: People | undefined): ManagementAccess {
    const { database, clock } = host;
    const openStore = (): Store => ({ database: yielding(readingAside(database)), clock, secrets, ...sending });
    const changes = createSlots(1, changeTimeout, contended, maxWaitingChanges);
    const stores = {
      store: { ...openStore(), changes, waiters: createShares(maxWaiters) },
      longStore: { ...openStore(), kept: createKeptTallies() },
    };
    const access = { adminToken, gate, people, ...stores, longWork: boundLongWork(), sendExport: createExports() };
    opened.set(host, access);
    return access;
  }

  return {
    path: adminPath,
    name,
    isOn,
    access: (host) => isOn ? opened.get(host) : undefined,
    secrets,
    mount(basePath, faces) {
      checkBeside({ name }, faces);
      const router = createRouter(basePath);
      const gate = createGate(adminToken);
      if (isOn) addOperations(router);
      else router.all(`${adminPath}/*`, () => refuse(managementOff(), {}, true));
      return (host) => {
        const count = isOn ? countRefusals(host) : () => {};
        const access = open(host, counted(gate, count), people && countedPeople(people, count));
        const shared: Shared = { ...access, answerLong: createLongAnswer(access, quietMs) };
        return async (ctx, context) => {
          try {
            return await router.fetch(ctx, context, { ...shared });
          } catch (error) {
            if (error instanceof Refusal && error.kind === "forbidden") count("forbidden");
            throw error;
          }
        };
      };
    },
    describe: () => isOn ? describeOperations(groups) : nothing,
    extend: (openHost) => ({
      admin: adminOf(({ isLong }, call) => {
        const host = openHost();
        const { store, longStore } = opened.get(host)!;
        return host.run(() => call({ ...isLong ? longStore : store, caller: embedder }));
      }),
    }),
  };
}

/** The embedder's code may do everything, like the admin token. */
const embedder: Caller = { source: "embedded", actor: "", role: "owner" };

const nothing: FaceDescription = { tags: {}, methods: [], structs: [], responses: {} };

/** Reason for a refusal by management or the console. */
type Reason = "missing" | "invalid" | "forbidden" | "limited";

const countRefusals = ({ metrics }: FaceHost): (reason: Reason) => void =>
  metrics.counter(
    "promptledger_management_refusals_total",
    "Requests refused for their token or session: missing, invalid, a role too low, or too many failures",
    ["reason"],
    ["missing", "invalid", "forbidden", "limited"] satisfies Reason[],
  );

/** Counts a gate's refusals, for all faces that use it. */
const counted = (gate: Gate, count: (reason: Reason) => void): Gate => async (token, store) => {
  try {
    const authenticated = await gate(token, store);
    if ("retryAfter" in authenticated) count("limited");
    return authenticated;
  } catch (error) {
    if (error instanceof Refusal) count(token === undefined ? "missing" : "invalid");
    throw error;
  }
};

/** Counts invalid sign-ins of people. */
const countedPeople = (people: People, count: (reason: Reason) => void): People => ({
  ...people,
  find: (request, store) =>
    people.find(request, store).catch((error) => {
      if (error instanceof Refusal && error.kind === "unauthorized") count("invalid");
      throw error;
    }),
});

/** Every path below `adminPath` requires a token, even one that does not exist. */
function addOperations(router: RouterType): void {
  router.all(`${adminPath}/*`, async (ctx: RequestContext, context: Context, state: State) => {
    const { request, requestId, logContext } = ctx;
    const authenticated = await whileUnread(ctx, context, () => authenticate(state, request));
    if ("retryAfter" in authenticated) {
      return refuse(tooManyFailures(), { "Retry-After": String(authenticated.retryAfter) }, true);
    }
    const { caller } = authenticated;
    if (caller.tokenId !== undefined) logContext.tokenId = caller.tokenId;
    state.caller = { ...caller, requestId };
    return undefined;
  });
  const pathOf = ({ path }: AnyOperation) => adminPath + path.replace(/{(\w+)}/g, ":$1");
  for (const operation of operations) router[operation.method.toLowerCase()]!(pathOf(operation), manage(operation));
  for (const [path, allowed] of groupBy(operations, pathOf)) {
    router.all(path, allowOnly(allowed.map(({ method }) => method).join(", "), true));
  }
}

/** Makes the handler of an operation. */
const manage = (operation: AnyOperation) => async (ctx: RequestContext, context: Context, state: State) => {
  for (const id of Object.values(ctx.params)) setId(ctx.logContext, id);
  const input = await readInput(operation, ownerOf(state.caller), ctx, context);
  if (operation.isLong) return await state.answerLong(operation, input, state.caller, ctx, context);
  const isOver = () => ctx.request.signal.aborted || ctx.isGone?.() === true || context.inFlight.isDraining();
  const output = await perform(operation, { ...state.store, caller: state.caller, isOver }, input);
  const headers: HeaderValues = operation.revision?.includes("etag") ? { ETag: `"${revisionOf(output)}"` } : {};
  const [request, ...others] = operation.requests?.(output) ?? [];
  if (request !== undefined) {
    const path = others.length === 0 ? `/changes/${request}` : "/changes";
    return accepted(output, { Location: toReference(path, operation, ctx.request), ...headers });
  }
  const path = operation.locate?.(output);
  if (path === undefined) return ok(output, headers);
  return created(output, { Location: toReference(path, operation, ctx.request), ...headers });
};

/**
 * A path below `adminPath` as a reference relative to the URL of the request. A host may strip the path that it mounts
 * the service under, so the service does not know its full URL.
 */
function toReference(path: string, operation: AnyOperation, { url }: Request): string {
  const [trailingSlashes] = /\/*$/.exec(new URL(url).pathname)!;
  const levels = operation.path.split("/").length - 2 + trailingSlashes.length;
  return "../".repeat(levels) + path.slice(1);
}

const revisionOf = (output: unknown): number => (output as { revision: number }).revision;
