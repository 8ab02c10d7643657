// People who sign in with their company's account, for the faces that take them. What that needs is loaded with the first one.
import { Refusal } from "../common/errors.ts";
import type { Log } from "../common/log.ts";
import type { PeopleSettings } from "../common/people-settings.ts";
import type { Caller, Store } from "../management/operation.ts";
import type { IdentityProvider } from "./identity-provider.ts";
import { causeOf } from "./sign-in-fault.ts";
import type { SignedHeader } from "./signed-header.ts";

/** Finds out who of a company sends a request, or who somebody is. */
export type People = {
  /** The header that has the token, in small letters. */
  header: string | undefined;
  /** Whether the header is good for the management API too. */
  isForApi: boolean;
  /** The person whose signed header a request has; undefined without one. Throws if it is not valid, or gives no role. */
  find(request: Request, store: Store): Promise<Caller | undefined>;
  /** Where the console sends people to sign in. */
  provider: Provider | undefined;
  /** What must not show up in logs and responses. */
  secrets: readonly string[];
};

export type Provider = {
  /** A text that changes with each of the settings. It has a secret in it. */
  fingerprint: string;
  /** The URL of this service as browsers reach it, without a slash at its end. */
  publicUrl: string;
  open(): Promise<IdentityProvider>;
};

const pause = 60_000; // ms between two lines of the log about one cause
const maxWarned = 50; // causes. A stranger can make up any number of them

/** Makes it for the settings. `send` replaces `fetch`. The log says why a header is refused, each cause once a minute. */
export function peopleOf(settings: PeopleSettings, send: typeof fetch = fetch, log?: Pick<Log, "warn">): People {
  const { header, provider, rules } = settings;
  let signedHeader: SignedHeader | undefined, opened: IdentityProvider | undefined;
  const warned = new Map<string, number>(); // when each cause was logged last
  function warn(message: string, cause: string, now: number): void {
    if (Math.abs(now - (warned.get(cause) ?? NaN)) < pause) return;
    if (warned.size >= maxWarned) warned.clear();
    warned.set(cause, now);
    log?.warn(message, { cause });
  }
  return {
    header: header?.name,
    isForApi: header?.isForApi ?? false,
    async find(request, store) {
      if (header === undefined || !request.headers.has(header.name)) return undefined;
      const { openSignedHeader } = await import("./signed-header.ts");
      signedHeader ??= openSignedHeader(header, rules, send);
      return await signedHeader(request, store).catch((error: unknown) => {
        if (error instanceof Refusal) warn("Sign-in by header refused", causeOf(error), store.clock());
        throw error;
      });
    },
    provider: provider && {
      fingerprint: JSON.stringify([provider, rules]),
      publicUrl: provider.publicUrl,
      async open() {
        const { openProvider } = await import("./identity-provider.ts");
        return opened ??= openProvider(provider, rules, send);
      },
    },
    secrets: provider === undefined ? [] : [provider.clientSecret],
  };
}
