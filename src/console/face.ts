// The console as a face: finds the page, signs people in and out, and shows refusals as pages.
import type { BackupState } from "../management/upkeep/backup-notices.ts";
import { invalid, methodNotAllowed, Refusal, unknownPath } from "../common/errors.ts";
import type { ErrorKind } from "../common/errors.ts";
import type { WorkspaceId } from "../common/ids.ts";
import { describeError } from "../common/log.ts";
import { readText, whileUnread } from "../http/body.ts";
import type { BodyLimit, Context, RequestContext } from "../http/context.ts";
import { consolePath } from "../http/face.ts";
import type { Face } from "../http/face.ts";
import { levelOf, setId } from "../http/log-context.ts";
import { untilGone } from "../faces/long-work.ts";
import type { ManagementFace } from "../faces/management-access.ts";
import { decodePart } from "../http/query.ts";
import { readQuery } from "../http/query.ts";
import { toRefusal } from "../http/respond.ts";
import type { Answer, HeaderValues } from "../http/respond.ts";
import { createRouter } from "../http/router.ts";
import { checkBeside, checkOptions } from "../http/settings.ts";
import type { NoOptions } from "../http/settings.ts";
import { createReadUnknown } from "../faces/sign-in/unknown-senders.ts";
import { ownerOf, perform } from "../management/kernel/operation.ts";
import type { Caller, Store } from "../management/kernel/operation.ts";
import { getWorkspace } from "../management/kernel/workspaces.ts";
import { createLinks, createSessions, findCaller, readCookie } from "./entrance/sessions.ts";
import type { LinkOptions } from "./entrance/sessions.ts";
import { consoleFrom, findAsset, rootOf, serviceAddress } from "./frame/addresses.ts";
import { createAttempts } from "./entrance/attempts.ts";
import { askToSignIn, goOn, leave, showSignIn } from "./entrance/entrance.ts";
import type { EntranceState } from "./entrance/entrance.ts";
import { beginSignIn, finishSignIn } from "./entrance/provider-entrance.ts";
import { pageAnswer, rawTextHeaders, redirectTo, requireOwnPage } from "./frame/safety.ts";
import { errorView } from "./frame/errors.tsx";
import { toInput } from "./frame/page.ts";
import type { Call, ConsoleRequest, Page, Resource } from "./frame/page.ts";
import { pages } from "./pages.ts";
import { createReads } from "./reads.ts";
import { bareLayout, documentOf, layout } from "./frame/layout.tsx";
import type { FramedView } from "./frame/layout.tsx";
import { answerSoon, createProgress, partOf } from "./frame/progress.tsx";
import type { Pace, Progress } from "./frame/progress.tsx";
import { offView } from "./entrance/sign-in.tsx";

const identity = { path: consolePath, name: "consolePages()", needs: "management()" } as const;

/** The console as a face. It can also make a link that signs in. */
export type ConsoleFace = Face & typeof identity & {
  /**
   * Makes a link that signs in with a token: its path below the base path. It works in this process only: once, or if
   * it is reusable for as long as the process runs and the token is valid.
   */
  createLink(token: string, options?: LinkOptions): string;
};

/** Reads the state of the backups, or that they are off. */
export type ReadBackups = () => BackupState | "off";

/** State shared by the pages of one service. */
type State = EntranceState & { pace: Pace; readBackups: ReadBackups | undefined };

const nobodySignsIn = "consolePages() needs management({ adminToken }) or management({ tokens: true }) beside it: " +
  "adminToken is undefined and tokens is not true, so nobody can sign in";

const defaultPace: Pace = { quietMs: 500, stepMs: 250 };

/**
 * The console, under `/console`. It needs the face `management` beside it, with `adminToken` or `tokens`, to sign in.
 *
 * @example
 * const service = createService({ database: "file:ledger.db", faces: [management({ tokens: true }), consolePages()] });
 */
export function consolePages(options: NoOptions = {}): ConsoleFace {
  checkOptions("consolePages", options, {});
  return consolePagesWith({});
}

/**
 * Creates the console with another pace for pages that take long, and another limit for the form that signs in.
 * `mayBeOff` accepts a management without sign-in: every page then explains how to turn it on. `readBackups` is for a
 * service that can make backups.
 */
export function consolePagesWith(
  { pace = defaultPace, signInLimit, mayBeOff = false, readBackups }: {
    pace?: Pace;
    signInLimit?: BodyLimit;
    mayBeOff?: boolean;
    readBackups?: ReadBackups | undefined;
  },
): ConsoleFace {
  const links = createLinks();
  return {
    ...identity,
    secrets: [],
    createLink: (token, options = {}) => `${consolePath}/sign-in?code=${links.create(token, options)}`,
    mount(basePath, faces) {
      checkBeside(identity, faces);
      const management = faces.find((face): face is ManagementFace => "access" in face);
      if (!management?.isOn && !mayBeOff) throw invalid(nobodySignsIn);
      const base = basePath + consolePath;
      const router = createRouter(base);
      router.all("/a/:file", showAsset);
      router.all("/sign-in", only("GET, HEAD, POST", showSignIn)).all("/sign-out", only("POST", leave));
      router.all("/continue", only("GET, HEAD", goOn));
      router.all("/company", only("GET", beginSignIn)).all("/callback", only("GET", finishSignIn));
      for (const page of pages) {
        router.all(page.path, only("act" in page ? "GET, HEAD, POST" : "GET, HEAD", showPage(page)));
      }
      router.all("/*", guarded(() => Promise.reject(unknownPath())));
      return (host) => {
        const readUnknown = createReadUnknown(signInLimit);
        const findPeople = () => management?.access(host)?.people;
        const sessions = createSessions(findPeople);
        const attempts = createAttempts(() => findPeople()?.provider?.publicUrl.startsWith("https:") === true);
        const own = { links, sessions, attempts, readUnknown, base, pace, readBackups };
        return (ctx, context) => {
          const access = management?.access(host);
          const isOn = access !== undefined, { pathname } = new URL(ctx.request.url);
          if (!pathname.startsWith(base)) return Promise.resolve(isOn ? redirectTo(consoleFrom(pathname)) : undefined);
          if (isOn) return router.fetch(ctx, context, { ...access, ...own });
          return Promise.resolve(pageAnswer(bareLayout(rootOf(ctx, base), offView), "not_found"));
        };
      };
    },
    describe: () => ({ tags: {}, methods: [], structs: [], responses: {} }),
  };
}

type Handler = (ctx: RequestContext, context: Context, state: State) => Promise<Answer>;

/** Answers with an error page, without navigation, if the handler refuses a request. */
const guarded = (handler: Handler): Handler => async (ctx, context, state) => {
  try {
    return await handler(ctx, context, state);
  } catch (error) {
    return refusedPage(ctx, state, error);
  }
};

/** Guards a handler of some methods. Any other gets 405. */
const only = (methods: string, handler: Handler): Handler =>
  guarded(async (ctx, context, state) =>
    methods.split(", ").includes(ctx.method)
      ? await handler(ctx, context, state)
      : refusedPage(ctx, state, methodNotAllowed(), { Allow: methods })
  );

function refusedPage(ctx: RequestContext, { base }: State, error: unknown, headers?: HeaderValues): Answer {
  const root = rootOf(ctx, base), refusal = refusalOf(ctx, error);
  return pageAnswer(
    bareLayout(root, errorView(refusal, { caller: undefined, start: root, id: ctx.requestId })),
    refusal.kind,
    headers,
  );
}

function refusalOf(ctx: RequestContext, error: unknown): Refusal {
  if (!(error instanceof Refusal)) ctx.logContext.failure = error;
  return toRefusal(error);
}

const isChange = ({ method }: RequestContext): boolean => method === "POST";

/** Answers with an asset. At an address that has none there may be a page. */
const showAsset = (ctx: RequestContext, context: Context, state: State): Promise<Answer> | undefined => {
  const asset = findAsset(ctx.params.file!);
  return asset && only("GET, HEAD", () => Promise.resolve(asset))(ctx, context, state);
};

/** Makes the handler of a page or of a resource. */
const showPage = (page: Page | Resource): Handler => async (ctx, context, state) => {
  const { request, requestId, logContext, params: encoded } = ctx;
  const root = rootOf(ctx, state.base);
  const params = Object.fromEntries(Object.entries(encoded).map(([name, value]) => [name, decodePart(value)]));
  if (isChange(ctx)) requireOwnPage(request);
  const caller = await whileUnread(ctx, context, () => findCaller(state, request));
  if (caller === undefined) return askToSignIn(ctx, state, root);
  if (caller.tokenId !== undefined) logContext.tokenId = caller.tokenId;
  for (const id of Object.values(params)) setId(logContext, id);
  const progress = createProgress();
  // A resource may be a stream, which would keep all that it has sent.
  const isRemembered = "show" in page && !isChange(ctx);
  const call = callerOf(ctx, isRemembered ? remembering(state) : state, { ...caller, requestId }, progress);
  const { clock } = state.store;
  let visit: ConsoleRequest = {
    ...{ caller, params, root, call, workspace: undefined, refusal: undefined, now: clock() },
    ...{ query: readQuery(request), form: new URLSearchParams(), hasSession: readCookie(request) !== undefined },
    backups: state.readBackups?.(),
    address: serviceAddress(request, state.base.slice(0, -consolePath.length)),
    download: (exported) => state.sendExport(exported, rawTextHeaders(), ownerOf(caller), ctx, context),
  };
  const enterWorkspace = async () => {
    const id = params.workspaceId as WorkspaceId | undefined;
    if (id !== undefined) visit = { ...visit, workspace: await call(getWorkspace, { id }) };
  };
  const refused = (error: unknown): FramedView =>
    layout(visit, errorView(refusalOf(ctx, error), { caller, start: root, id: requestId }), page);
  if (request.method === "GET" && "show" in page) {
    const view = enterWorkspace().then(() => show(page, visit)).catch(refused);
    return await answerSoon({ view, root, progress, onRefused: (kind) => logRefused(kind, ctx, context) }, state.pace);
  }
  try {
    await enterWorkspace();
    if (!isChange(ctx)) return "answer" in page ? await page.answer(visit) : answerWith(root, await show(page, visit));
    return await change(page, { ...visit, form: new URLSearchParams(await readText(ctx, context, ownerOf(caller))) });
  } catch (error) {
    return answerWith(root, refused(error));
  }
};

/** Logs that a page was refused after its response had begun. The line of the request has status 200 and no error. */
function logRefused(error: ErrorKind, { requestId, logContext: { failure } }: RequestContext, { log }: Context): void {
  // The reader has left, so nothing went wrong.
  if (error === "client_gone") return;
  const cause = failure === undefined ? undefined : describeError(failure);
  log[levelOf(error)]("Page was refused after its answer began", { requestId, error, cause });
}

const answerWith = (root: string, view: FramedView): Answer => pageAnswer(documentOf(root, view), view.kind);

const show = async (page: Page, visit: ConsoleRequest): Promise<FramedView> =>
  layout(visit, await page.show(visit), page);

/** Makes a change. If it is refused, the page is shown again, with the reason and what was entered. */
async function change(page: Page | Resource, visit: ConsoleRequest): Promise<Answer> {
  if (!("show" in page) || page.act === undefined) throw methodNotAllowed();
  try {
    const shown = await page.act(visit);
    if ("redirect" in shown) return redirectTo(shown.redirect);
    return answerWith(visit.root, layout(visit, shown, page));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return answerWith(visit.root, await show(page, { ...visit, refusal: error }));
  }
}

/** State for a read-only page: repeats no read, and checks once that the caller may see an object. */
function remembering(state: State): State {
  const remember = createReads(), visible = new Set<string>();
  const over = (store: Store): Store => ({ ...store, database: remember(store.database), visible });
  return { ...state, store: over(state.store), longStore: over(state.longStore) };
}

/**
 * Makes the function that calls operations for the person who is signed in. Few long operations run at once. They
 * report their progress, and stop when the person has left.
 */
const callerOf =
  (ctx: RequestContext, { store, longStore, longWork }: State, caller: Caller, progress: Progress): Call =>
  async (operation, input, part) => {
    if (!operation.isLong) return await perform(operation, { ...store, caller }, toInput(input));
    const isGone = () => progress.hasLeft || ctx.request.signal.aborted || ctx.isGone?.() === true;
    const report = (words: string, share?: number) => void Object.assign(progress, partOf(part, words, share));
    const leave = await longWork.enter(ownerOf(caller));
    try {
      const database = untilGone(longStore.database, isGone);
      return await perform(operation, { ...longStore, database, caller, report }, toInput(input));
    } finally {
      leave();
    }
  };
