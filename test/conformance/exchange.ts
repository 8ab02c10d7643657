// Sends many requests over a few keep-alive connections.
import { openConnection } from "./http-client.ts";
import type { Connection, HttpAnswer } from "./http-client.ts";

/** The bytes of a request. The answer to HEAD has no body. */
export type Message = { bytes: Uint8Array; isHead: boolean };

const connections = 32;

/** Returns the answer to each message, or undefined if the connection was closed instead. */
export async function exchange(base: string, messages: Message[]): Promise<(HttpAnswer | undefined)[]> {
  const answers: (HttpAnswer | undefined)[] = [];
  let next = 0;

  async function work(): Promise<void> {
    let connection: Connection | undefined;
    while (next < messages.length) {
      const index = next++;
      const { bytes, isHead } = messages[index]!;
      const isUsed = connection !== undefined;
      connection ??= openConnection(base);
      let answer = await ask(connection, bytes, isHead);
      if (answer === undefined && isUsed) {
        // The server may have closed it after the previous answer.
        connection = openConnection(base);
        answer = await ask(connection, bytes, isHead);
      }
      answers[index] = answer;
      if (answer !== undefined && answer.headers.get("connection") !== "close") continue;
      connection.close();
      connection = undefined;
    }
    connection?.close();
  }

  await Promise.all(Array.from({ length: connections }, work));
  return answers;
}

async function ask(connection: Connection, bytes: Uint8Array, isHead: boolean): Promise<HttpAnswer | undefined> {
  connection.write(bytes);
  try {
    return await connection.readAnswer(isHead);
  } catch (error) {
    connection.close();
    if (/closed the connection before/.test(String(error))) return undefined;
    throw error;
  }
}
