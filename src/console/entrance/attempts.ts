// Attempts to sign in at an identity provider, each in a cookie that is valid for ten minutes and one answer. The
// cookie is sealed, and on https no other host of the domain can set it.
import { createCache } from "../../common/cache.ts";
import type { Attempt } from "../../faces/sign-in/identity-provider.ts";
import type { SecretKey } from "../../management/kernel/service-secret.ts";
import type { Store } from "../../management/kernel/operation.ts";
import { seal, unseal } from "./seals.ts";
import { readNamedCookie } from "./sessions.ts";

/** An attempt, and the page of the console that it leads to. */
type Leading = Attempt & { next: string };

export type Attempts = {
  /** The header that gives a browser an attempt. */
  begin(store: Store, key: SecretKey, leading: Leading): Promise<string>;
  /** The attempt of a browser; undefined if missing, too old, or taken by this process before. */
  take(store: Store, key: SecretKey, request: Request): Promise<Leading | undefined>;
};

const time = 600_000; // ms
const maxTaken = 10_000;
const purpose = "attempt";

/** Makes the attempts of a service. `isSecure` returns true if browsers use https. */
export function createAttempts(isSecure: () => boolean): Attempts {
  const taken = createCache<true>(maxTaken);
  return {
    begin: async ({ clock }, key, leading) =>
      attemptHeader(isSecure(), await seal(key, purpose, JSON.stringify({ ...leading, endsAt: clock() + time }))),
    async take({ clock }, key, request) {
      const cookie = readNamedCookie(request, nameOf(isSecure()));
      const sealed = cookie === undefined ? undefined : await unseal(key, purpose, cookie);
      if (sealed === undefined || taken.get(sealed.id) !== undefined) return undefined;
      taken.set(sealed.id, true, 1);
      const { endsAt, ...leading } = JSON.parse(sealed.text) as Leading & { endsAt: number };
      return clock() < endsAt ? leading : undefined;
    },
  };
}

const nameOf = (isSecure: boolean): string => isSecure ? "__Host-pl_attempt" : "pl_attempt";

// The browser sends it when the provider leads back, which a cookie for this site alone would not survive.
const attemptHeader = (isSecure: boolean, value: string): string =>
  [
    `${nameOf(isSecure)}=${value}`,
    "Path=/",
    "HttpOnly",
    "SameSite=Lax",
    `Max-Age=${time / 1000}`,
    ...isSecure ? ["Secure"] : [],
  ]
    .join("; ");
