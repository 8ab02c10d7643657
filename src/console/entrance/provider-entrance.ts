// Sign-in by an identity provider: to its page, and back with its answer.
import { Refusal, signInRefused, unknownPath } from "../../common/errors.ts";
import type { Context, RequestContext } from "../../http/context.ts";
import type { Warn } from "../../faces/sign-in/identity-provider.ts";
import type { Provider } from "../../faces/sign-in/people.ts";
import { readQuery } from "../../http/query.ts";
import type { Answer } from "../../http/respond.ts";
import { causeOf } from "../../faces/sign-in/sign-in-fault.ts";
import type { SecretKey } from "../../management/kernel/service-secret.ts";
import { rootOf } from "../frame/addresses.ts";
import { again } from "./entrance.ts";
import type { EntranceState } from "./entrance.ts";
import { bareLayout } from "../frame/layout.tsx";
import { pageAnswer, redirectTo } from "../frame/safety.ts";
import { cookieHeader } from "./sessions.ts";
import { safeNext, signInView } from "./sign-in.tsx";

type Handler = (ctx: RequestContext, context: Context, state: EntranceState) => Promise<Answer>;
type Ways = { provider: Provider; key: SecretKey; warn: Warn };

/** Makes a handler that has the provider. If it refuses, the sign-in page shows why. */
const withProvider =
  (handler: (ctx: RequestContext, state: EntranceState, ways: Ways) => Promise<Answer>): Handler =>
  async (ctx, { log }, state) => {
    const provider = state.people?.provider, key = await state.sessions.personKey(state.store);
    const warn = (message: string, cause: string) => log.warn(message, { requestId: ctx.requestId, cause });
    if (provider === undefined || key === undefined) throw unknownPath();
    try {
      return await handler(ctx, state, { provider, key, warn });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      warn("Sign-in refused", causeOf(error));
      const view = signInView({ next: "", hasProvider: true, fault: `${error.message}.` });
      return pageAnswer(bareLayout(rootOf(ctx, state.base), view), error.kind);
    }
  };

/** Leads to the provider. */
export const beginSignIn = withProvider(async ({ request }, { store, attempts }, { provider, key }) => {
  const next = safeNext(readQuery(request).get("next"));
  const { url, attempt } = await (await provider.open()).begin(store);
  return redirectTo(url, { "Set-Cookie": await attempts.begin(store, key, { ...attempt, next }) });
});

/**
 * Takes the provider's answer. The browser does not send the new cookie with a redirect that another site began, so a
 * page leads on.
 */
export const finishSignIn = withProvider(async (ctx, { base, store, attempts, sessions }, ways) => {
  const { provider, key, warn } = ways, { request } = ctx, answer = new URL(request.url).searchParams;
  const attempt = await attempts.take(store, key, request);
  if (attempt === undefined) {
    throw signInRefused(`it took more than 10 minutes, or did not begin in this browser at ${provider.publicUrl}`);
  }
  const { person: { actor, role, workspaceId }, idToken } = await (await provider.open()).finish(
    store,
    answer,
    attempt,
    warn,
  );
  // A browser takes no cookie that is longer than 4 kB. Signing out works without the token too.
  const person = { actor, role, workspaceId, idToken: idToken.length > maxIdToken ? undefined : idToken };
  const cookie = await sessions.begin(store, { person });
  const isSecure = provider.publicUrl.startsWith("https:");
  return again(rootOf(ctx, base), attempt.next, { "Set-Cookie": cookieHeader(request, cookie, isSecure) });
});

const maxIdToken = 2_000; // characters
