// What the checks send, and what came of it.
import type { Connection, HttpRequest } from "../conformance/http-client.ts";
import { goodBody } from "../helpers.ts";
import type { Stage } from "./stage.ts";

export const body: string = JSON.stringify(goodBody);

/** The status of the next answer, or what came in its place. */
export async function statusOf(connection: Connection, isHead = false): Promise<number | string> {
  try {
    return (await connection.readAnswer(isHead)).status;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** The status that a request on a connection of its own is answered with, or what came in its place. */
export function ask(stage: Stage, target: string, request?: HttpRequest): Promise<number | string> {
  return answerTo(stage, stage.bytesOf(target, request));
}

/** The status that the bytes of a request are answered with, on a connection of their own. */
export async function answerTo(stage: Stage, bytes: Uint8Array | string): Promise<number | string> {
  const connection = stage.open();
  connection.write(bytes);
  const status = await statusOf(connection);
  connection.close();
  return status;
}

/** The tenant's key, and what other middleware is to do. */
export const headersOf = (stage: Stage, middleware?: string): string[] => [
  `Authorization: Bearer ${stage.key}`,
  ...(middleware === undefined ? [] : [`X-Middleware: ${middleware}`]),
];

type Framing = "length" | "chunks";
export const framings: Framing[] = ["length", "chunks"];

/** A submit of which so much is sent, and then nothing more. */
export function unfinished(
  stage: Stage,
  framing: Framing,
  sent: string,
  length: number,
  headers = headersOf(stage),
): string {
  return [
    `POST ${stage.targets.submit} HTTP/1.1`,
    `Host: ${new URL(stage.url).host}`,
    ...headers,
    framing === "length" ? `Content-Length: ${length}` : "Transfer-Encoding: chunked",
    "",
    framing === "length" ? sent : `${sent.length.toString(16)}\r\n${sent}\r\n`,
  ].join("\r\n");
}

/** How many characters of its body a submit has sent that stops there. */
export const half = 10;

/** A submit that stops in the middle of its body. */
export const halfSubmit = (stage: Stage, framing: Framing, headers = headersOf(stage)): string =>
  unfinished(stage, framing, body.slice(0, half), body.length, headers);

const attempts = 3;

/** Runs an attempt some times, one after the other, and gives what came of each. */
export async function repeat<T>(attempt: () => Promise<T>): Promise<T[]> {
  const outcomes: T[] = [];
  for (let n = 0; n < attempts; n++) outcomes.push(await attempt());
  return outcomes;
}

/** The same outcome for every attempt. */
export const all = <T>(outcome: T): T[] => Array.from({ length: attempts }, () => outcome);
