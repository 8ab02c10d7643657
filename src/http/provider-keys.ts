// The public keys of an identity provider. They are kept for ten minutes, and while the provider is away for as long as that lasts.
import { createLocalJWKSet, errors } from "jose";
import type { JSONWebKeySet, JWSHeaderParameters } from "jose";
import { providerAway } from "../common/errors.ts";
import type { Store } from "../management/operation.ts";
import { readJson } from "./provider-answer.ts";

export type Keys = {
  /** The key that a token with this header is signed with. Throws an error of jose if there is none. */
  find(header: JWSHeaderParameters, store: Store): Promise<CryptoKey>;
};

type KeySet = ReturnType<typeof createLocalJWKSet>;

const keptFor = 600_000; // ms
// ms between two reads. Strangers can name any key, and a provider that is away makes a request wait.
const pause = { withKeys: 30_000, without: 5_000 };

/** Makes the keys of a URL. `send` is `fetch`, or takes its place. */
export function createKeys(url: string, send: typeof fetch): Keys {
  let keySet: KeySet | undefined;
  let readAt = -Infinity, mayReadAt = -Infinity;
  let fault = "";
  // Each request to a Worker has a store of its own, and must wait for no other.
  const reading = new WeakMap<Store, Promise<void>>();

  async function read({ clock }: Store): Promise<void> {
    const wait = () => void (mayReadAt = clock() + (keySet === undefined ? pause.without : pause.withKeys));
    // Requests that come meanwhile use the keys that are there.
    if (keySet !== undefined) wait();
    try {
      keySet = createLocalJWKSet(await readJson(url, send) as JSONWebKeySet);
      readAt = clock();
    } catch (error) {
      fault = error instanceof errors.JOSEError ? "AUTH_JWKS_URL has no key set" : (error as Error).message;
    }
    wait();
  }

  function readOnce(store: Store): Promise<void> {
    const running = reading.get(store) ?? read(store).finally(() => reading.delete(store));
    reading.set(store, running);
    return running;
  }

  return {
    async find(header, store) {
      const mayRead = () => store.clock() >= mayReadAt;
      const isOld = () => !(store.clock() < readAt + keptFor);
      if (isOld() && mayRead()) await readOnce(store);
      if (keySet === undefined) throw providerAway(fault);
      try {
        return await keySet(header);
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey) || !mayRead()) throw error;
      }
      await readOnce(store);
      return await keySet(header);
    },
  };
}
