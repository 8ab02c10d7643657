// MCP over the standard streams: a message on each line. Requests run at once, and are answered as they are done.
import { stringify } from "../common/json-text.ts";
import type { JsonText } from "../common/json-text.ts";
import { codes, errorResponse, findFault, isFault, readMessage } from "./protocol.ts";
import type { Message } from "./protocol.ts";
import { findMethod, respond } from "./server.ts";
import type { Session } from "./session.ts";

/** A request that can be answered. */
export type Request = Message & { id: JsonText };

/** Answers a request with the JSON text of a response. */
export type Answerer = (request: Request, source: string) => Promise<string>;

const maxAtOnce = 64;

/**
 * Serves lines until they end, or until `write` returns false because the responses are not read, and waits for
 * requests in progress. A line that is undefined was too long. No response is written for a cancelled request.
 */
export async function serveLines(
  lines: AsyncIterable<string | undefined>,
  write: (line: string) => Promise<boolean>,
  answer: Answerer,
): Promise<void> {
  const running = new Set<Promise<void>>(), open = new Map<string, { isCancelled: boolean }>();
  let isRead = true;

  async function say(response: string): Promise<void> {
    isRead = await write(`${response}\n`);
  }

  async function run(request: Request, source: string): Promise<void> {
    const { id: { text } } = request, state = { isCancelled: false };
    open.set(text, state);
    const response = await answer(request, source);
    if (open.get(text) === state) open.delete(text);
    if (!state.isCancelled) await say(response);
  }

  for await (const line of lines) {
    if (!isRead) break;
    if (line?.trim() === "") continue;
    const message = line === undefined ? tooLong : readMessage(line);
    if ("fault" in message) await say(stringify(errorResponse(message.fault, message.id)));
    else if (message.id !== undefined) {
      const work: Promise<void> = run({ ...message, id: message.id }, line!).finally(() => running.delete(work));
      running.add(work);
      if (running.size >= maxAtOnce) await Promise.race(running);
    } else if (message.method === "notifications/cancelled") {
      const { members } = message.params;
      const state = open.get(members.get("requestId")?.trim() ?? "");
      if (state !== undefined) state.isCancelled = true;
    }
  }
  await Promise.all(running);
}

const tooLong = {
  fault: { code: codes.invalidRequest, message: "The message is too long" },
  id: undefined,
};

/** Answers requests in this process, for a caller. */
export const answerIn = (session: Session): Answerer => async (request) => {
  const { id } = request;
  const fault = findFault(request);
  if (fault !== undefined) return stringify(errorResponse(fault, id));
  const method = findMethod(request);
  return stringify(isFault(method) ? errorResponse(method, id) : await respond(method, request, session));
};
