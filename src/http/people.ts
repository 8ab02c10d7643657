// People who sign in with their company's account, for the faces that take them. What that needs is loaded with the first one.
import type { PeopleSettings } from "../common/people-settings.ts";
import type { Caller, Store } from "../management/operation.ts";
import type { IdentityProvider } from "./identity-provider.ts";
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

/** Makes it for the settings. `send` replaces `fetch`. */
export function peopleOf(settings: PeopleSettings, send: typeof fetch = fetch): People {
  const { header, provider, rules } = settings;
  let signedHeader: SignedHeader | undefined, opened: IdentityProvider | undefined;
  return {
    header: header?.name,
    isForApi: header?.isForApi ?? false,
    async find(request, store) {
      if (header === undefined || !request.headers.has(header.name)) return undefined;
      const { openSignedHeader } = await import("./signed-header.ts");
      signedHeader ??= openSignedHeader(header, rules, send);
      return await signedHeader(request, store);
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
