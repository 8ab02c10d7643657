// Pages for signed-out people.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import type { Refusal } from "../../common/errors.ts";
import { isApiKey } from "../../common/ids.ts";
import { Fragment, h } from "../frame/html.ts";
import type { Html } from "../frame/html.ts";
import type { View } from "../frame/page.ts";
import { Field, Form, HiddenField } from "../frame/form.tsx";
import { Notice } from "../frame/elements.tsx";

const create = <code>promptledger token create --name NAME --role viewer</code>;

/**
 * Asks for a token, or leads to the identity provider if there is one. `next` is the page below the console to go to
 * then, and `fault` the reason of a failed sign-in.
 */
export const signInView = (
  { next, hasProvider, fault }: { next: string; hasProvider: boolean; fault?: string | undefined },
): View => ({
  title: "Sign in",
  body: (
    <>
      <h1>Sign in</h1>
      {fault !== undefined && <Notice kind="error">{fault}</Notice>}
      {hasProvider && (
        <p>
          <a class="button primary" href={`company?${new URLSearchParams({ next })}`}>
            Sign in with the company's account
          </a>
        </p>
      )}
      <p class="lede">{hasProvider ? "Or use" : "Use"} a management token, or the admin token of this service.</p>
      <Form submit="Sign in" action="sign-in">
        <Field label="Token" name="token" type="password" isRequired />
        <HiddenField name="next" value={next} />
      </Form>
      <p class="hint">
        The session ends after 12 hours, when you sign out, or when the token is revoked. Make a token with {create}.
      </p>
    </>
  ),
});

/** Error text for a token that was refused. */
export function tokenFault({ kind, message }: Refusal, token: string): string {
  if (kind !== "unauthorized") return `${message}.`;
  return isApiKey(token)
    ? "This is an API key, which applications use. Sign in with a management token: its text begins with plm_."
    : "This token is not valid. Check that you copied all of it and that it has not expired or been revoked, or ask an admin for a new one.";
}

export const spentLink =
  "This link is not valid: it has been used, or the service that made it has stopped. If a demo printed it, start the demo again for a new one.";

/** Redirects from another site's link. The browser withholds the cookie until a page of the console asks. */
export const againView = (href: string): View => ({
  title: "Opening",
  body: (
    <>
      <h1>Opening the page</h1>
      <p>
        <a class="button primary" href={href}>Continue</a>
      </p>
    </>
  ),
});

/** Leads on to the provider's page that signs out. */
export const awayView = (href: string): View => ({
  title: "Signed out",
  body: (
    <>
      <h1>You are signed out here</h1>
      <p>
        <a class="button primary" href={href}>Sign out at the identity provider</a>
      </p>
    </>
  ),
});

const signInAside = (root: string): Html => (
  <a href={`${root}sign-in`} target="_blank" rel="noopener">Sign in in another tab</a>
);

/** A form was sent after the session had ended. */
export const endedView = (root: string): View => ({
  title: "Signed out",
  body: (
    <>
      <h1>Your session has ended</h1>
      <p>
        Nothing was changed. {signInAside(root)}, then go back and send the form again. What you entered is still there.
      </p>
    </>
  ),
});

export const offView: View = {
  title: "Off",
  body: (
    <>
      <h1>The console is off</h1>
      <p>
        It needs the management API. Start the service with <code>ADMIN_TOKEN</code>, or with{" "}
        <code>MANAGEMENT=true</code> for management tokens alone.
      </p>
    </>
  ),
};

// Only a path below the console: no other site, and no way up.
const isInside = /^(?![./])[\w.~%-]+(\/[\w.~%-]+)*(\?[\w.~%=&+*-]*)?$/;

const maxNext = 1_000; // characters, which the cookie of an attempt to sign in has room for

/** The page to go to after signing in, relative to the console. Anything else than a page of it leads to its start. */
export const safeNext = (next: string | null): string =>
  next !== null && next.length <= maxNext && isInside.test(next) && !goesUp(next.split("?")[0]!) ? next : "";

/** True if a path leads upward. A browser reads `%2e%2e` as `..` too, and some proxies `%2f` as `/`. */
const goesUp = (path: string): boolean => path.replace(/%2e/gi, ".").split(/\/|%2f|%5c/i).includes("..");
