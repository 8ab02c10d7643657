// Reads what an identity provider answers: bounded in time and size, and from the address that the settings name alone.

const timeout = 5_000; // ms
const maxBytes = 262_144;

/** The JSON at a URL. Throws an error in words for people. */
export async function readJson(url: string, send: typeof fetch): Promise<unknown> {
  const response = await answerOf(url, send);
  if (!response.ok) throw new Error(`${new URL(url).host} answered with status ${response.status}`);
  try {
    return JSON.parse(await readBounded(response));
  } catch {
    throw new Error(`${new URL(url).host} answered with no JSON, with more than ${maxBytes} bytes, or too slowly`);
  }
}

async function answerOf(url: string, send: typeof fetch): Promise<Response> {
  try {
    // Workers know no other way to follow no redirect.
    return await send(url, {
      redirect: "manual",
      signal: AbortSignal.timeout(timeout),
      headers: { Accept: "application/json" },
    });
  } catch {
    throw new Error(`${new URL(url).host} did not answer within ${timeout / 1000} s`);
  }
}

async function readBounded({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "", size = 0;
  for (const reader = body?.getReader(); reader !== undefined;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    size += value.length;
    if (size > maxBytes) {
      await reader.cancel();
      throw new Error("too large");
    }
    text += decoder.decode(value, { stream: true });
  }
  return text;
}
