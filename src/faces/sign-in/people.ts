// Sign-in with a company's account, for the faces that take it. Its code is loaded on first use.
import { Refusal } from "../../common/errors.ts";
import type { Log } from "../../common/log.ts";
import type { PeopleSettings } from "./people-settings.ts";
import type { Caller, Store } from "../../management/kernel/operation.ts";
import type { IdentityProvider } from "./identity-provider.ts";
import { causeOf } from "./sign-in-fault.ts";
import type { SignedHeader } from "./signed-header.ts";

/** Identifies a company's people, by a signed header or at a provider. */
export type People = {
  /** Name of the header with the token, in lower case. */
  header: string | undefined;
  /** True if the management API accepts the header too. */
  isForApi: boolean;
  /** Person whose signed header a request has; undefined without one. Throws if it is not valid, or gives no role. */
  find(request: Request, store: Store): Promise<Caller | undefined>;
  /** Provider for sign-in to the console. */
  provider: Provider | undefined;
  /** Secrets that must not be in logs and responses. */
  secrets: readonly string[];
};

export type Provider = {
  /** A text that changes with each of the settings. It contains a secret. */
  fingerprint: string;
  /** URL of this service as browsers reach it, without a trailing slash. */
  publicUrl: string;
  open(): Promise<IdentityProvider>;
};

const pause = 60_000; // ms between two lines of the log about one cause
const maxWarned = 50; // causes. A client can make up any number of them

/**
 * Makes it for the settings. `send` replaces `fetch`. The log has the cause of a refused header, each once a minute.
 */
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
