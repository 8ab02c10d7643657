// People who sign in with their company's account, for the faces that take them. What that needs is loaded with the first one.
import type { PeopleSettings } from "../common/people-settings.ts";
import type { Caller, Store } from "../management/operation.ts";
import type { SignedHeader } from "./signed-header.ts";

/** Finds out who of a company sends a request. */
export type People = {
  /** The header that has the token, in small letters. */
  header: string | undefined;
  /** Whether the header is good for the management API too. */
  isForApi: boolean;
  /**
   * The person whose signed header a request has; undefined without one. A header alone, without a signature, is refused as a
   * forged one is.
   */
  find(request: Request, store: Store): Promise<Caller | undefined>;
};

/** Makes it for the settings. `send` replaces `fetch`. */
export function peopleOf({ header, rules }: PeopleSettings, send: typeof fetch = fetch): People {
  let opened: SignedHeader | undefined;
  return {
    header: header?.name,
    isForApi: header?.isForApi ?? false,
    async find(request, store) {
      if (header === undefined || !request.headers.has(header.name)) return undefined;
      const { openSignedHeader } = await import("./signed-header.ts");
      opened ??= openSignedHeader(header, rules, send);
      return await opened(request, store);
    },
  };
}
