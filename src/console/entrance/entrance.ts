// Sign-in and sign-out of the console: their pages, and redirects to them and back.
import { Refusal } from "../../common/errors.ts";
import { whileUnread } from "../../http/body.ts";
import type { Context, RequestContext } from "../../http/context.ts";
import type { ManagementAccess } from "../../faces/management-access.ts";
import { readQuery } from "../../http/query.ts";
import type { Answer, HeaderValues } from "../../http/respond.ts";
import type { ReadUnknown } from "../../faces/sign-in/unknown-senders.ts";
import { pageOf, rootOf } from "../frame/addresses.ts";
import type { Attempts } from "./attempts.ts";
import { bareLayout } from "../frame/layout.tsx";
import { isFromElsewhere, pageAnswer, redirectTo, requireOwnPage } from "../frame/safety.ts";
import { cookieHeader, findCaller, findPerson, ifRefused, readCookie, signIn, signOut } from "./sessions.ts";
import type { Links, Sessions } from "./sessions.ts";
import { againView, awayView, endedView, safeNext, signInView, spentLink, tokenFault } from "./sign-in.tsx";

/** State that signing in and out needs. */
export type EntranceState = ManagementAccess & {
  links: Links;
  sessions: Sessions;
  attempts: Attempts;
  readUnknown: ReadUnknown;
  base: string;
};

/** Shows the page that signs in, and signs in by the form on it or by a link. */
export async function showSignIn(ctx: RequestContext, _: Context, state: EntranceState): Promise<Answer> {
  const { request } = ctx;
  const root = rootOf(ctx, state.base), hasProvider = state.people?.provider !== undefined;
  if (ctx.method !== "POST") {
    const query = readQuery(request), next = safeNext(query.get("next"));
    const code = query.get("code") ?? undefined;
    // Programs that check a link send HEAD, which must not use it up.
    const token = code === undefined || request.method === "HEAD" ? undefined : state.links.take(code);
    if (token !== undefined) return await enter(ctx, state, token, "");
    if (await findCaller(state, request).catch(ifRefused) !== undefined) return redirectTo(root + next);
    if (state.people?.header !== undefined && isFromElsewhere(request)) return again(root, next);
    const refusal = await findPerson(state, request).then(() => undefined, refusalOnly);
    // A cookie that does not sign in would count as a wrong token with each page.
    const headers: HeaderValues = readCookie(request) === undefined
      ? {}
      : { "Set-Cookie": cookieHeader(request, undefined) };
    const fault = code !== undefined ? spentLink : refusal && `${refusal.message}.`;
    return pageAnswer(bareLayout(root, signInView({ next, hasProvider, fault })), refusal?.kind, headers);
  }
  requireOwnPage(request);
  const form = new URLSearchParams(await state.readUnknown(ctx));
  const next = safeNext(form.get("next")), token = (form.get("token") ?? "").trim();
  try {
    return await enter(ctx, state, token, next);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return pageAnswer(bareLayout(root, signInView({ next, hasProvider, fault: tokenFault(error, token) })), error.kind);
  }
}

const enter = async ({ request }: RequestContext, state: EntranceState, token: string, next: string): Promise<Answer> =>
  redirectTo(next === "" ? "./" : next, { "Set-Cookie": cookieHeader(request, await signIn(state, token)) });

function refusalOnly(error: unknown): Refusal {
  if (!(error instanceof Refusal)) throw error;
  return error;
}

/** Ends the session. A person whom an identity provider has signed in is sent there to sign out too. */
export async function leave(ctx: RequestContext, context: Context, state: EntranceState): Promise<Answer> {
  const { request } = ctx, { people, store } = state;
  requireOwnPage(request);
  const person = await whileUnread(ctx, context, () => signOut(state, request));
  const headers = { "Set-Cookie": cookieHeader(request, undefined) };
  const provider = person === undefined ? undefined : await people?.provider?.open();
  // The session here has ended, even if the provider is away.
  const href = await provider?.findEnd(store, person?.idToken).catch(ifRefused);
  if (href === undefined) return redirectTo("sign-in", headers);
  // Forms may lead to pages of this site alone, so a page leads on.
  return pageAnswer(bareLayout(rootOf(ctx, state.base), awayView(href)), undefined, {
    ...headers,
    Refresh: `0; url=${href}`,
  });
}

/** Leads on to a page of the console. */
// deno-lint-ignore require-await -- a handler returns a promise
export const goOn = async ({ request }: RequestContext): Promise<Answer> =>
  redirectTo(safeNext(readQuery(request).get("next")) || "./");

/**
 * Asks the person to sign in, and then leads back to the page. The cookie does not come with a link on another site.
 * Such a request is sent again from a page of the console.
 */
export function askToSignIn(ctx: RequestContext, { base }: EntranceState, root: string): Answer {
  if (ctx.method === "POST") return pageAnswer(bareLayout(root, endedView(root)), "unauthorized");
  const next = safeNext(pageOf(ctx, base));
  return isFromElsewhere(ctx.request)
    ? again(root, next)
    : redirectTo(`${root}sign-in?${new URLSearchParams({ next })}`);
}

/** Redirects from a page of the console, so that the browser sends SameSite=Strict cookies. */
export function again(root: string, next: string, headers: HeaderValues = {}): Answer {
  const href = `${root}continue?${new URLSearchParams({ next })}`;
  return pageAnswer(bareLayout(root, againView(href)), undefined, { ...headers, Refresh: `0; url=${href}` });
}
