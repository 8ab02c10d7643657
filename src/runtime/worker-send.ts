// Sends a request from a Worker, which cannot check the address that a name resolves to. Cloudflare sends only to
// public ones.
import { urlFault } from "../support/outbound-url.ts";
import type { Send } from "../management/events/deliver.ts";

const maxText = 1024; // characters of a response that are kept

/**
 * Creates a function that sends by `fetch`. A request takes at most `timeout` ms. `allowed` has the hosts that may be
 * inside.
 */
export const sendFrom = (allowed: readonly string[], timeout: number): Send => async ({ url, headers, body }) => {
  const fault = urlFault(url, allowed);
  if (fault !== undefined) throw new Error(`The URL ${fault}`);
  const signal = AbortSignal.timeout(timeout);
  const response = await fetch(url, { method: "POST", headers, body, redirect: "manual", signal });
  const retryAfter = response.headers.get("Retry-After") ?? undefined;
  return { status: response.status, text: await readBeginning(response), retryAfter };
};

async function readBeginning({ body }: Response): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  const reader = body?.getReader();
  while (reader !== undefined && text.length < maxText) {
    // The status has arrived, and suffices if the rest is faulty.
    const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }));
    if (done) return text;
    text += decoder.decode(value, { stream: true });
  }
  await reader?.cancel();
  return text.slice(0, maxText);
}
