// A model server that speaks OpenAI's protocol. What it does depends on the last message: `ERROR` is refused with a 400, `FAULT` gets
// an error in the middle of a stream, `EARLY` its end, and `CUT` and `SLOW` get no further, the one until its connection is lost. With tools, the first
// answer calls the first of them.
import { createServer } from "node:http";
import type { ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

type Body = {
  model: string;
  messages: { role: string; content: unknown }[];
  stream?: boolean;
  tools?: { function: { name: string } }[];
};

/** The tokens of each answer. */
export const usage = {
  prompt_tokens: 20,
  completion_tokens: 6,
  total_tokens: 26,
  prompt_tokens_details: { cached_tokens: 8 },
  completion_tokens_details: { reasoning_tokens: 2 },
};

export type ModelServer = {
  url: string;
  /** The requests since this was last called. */
  requests(): Body[];
  /** Loses the connection of the request whose last message is this. */
  cut(message: string): void;
  close(): void;
};

const answer = (body: Body, response: ServerResponse, cuts: Map<string, ServerResponse>): void => {
  const { model, messages, stream, tools } = body;
  const { role, content } = messages.at(-1)!;
  const text = typeof content === "string" ? content : JSON.stringify(content);
  const shared = { id: "chatcmpl-1", created: 1_800_000_000, model: `${model}-2027` };
  const send = (status: number, value: unknown) =>
    response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(value));
  if (text.includes("ERROR")) {
    return void send(400, { error: { message: "No such model", type: "invalid_request_error" } });
  }

  const name = role === "tool" ? undefined : tools?.[0]?.function.name;
  const call = { id: "call_1", type: "function", function: { name, arguments: '{"id":"4711"}' } };
  const reason = name ? "tool_calls" : "stop";
  const message = { role: "assistant", ...(name ? { content: null, tool_calls: [call] } : { content: "Hello Ada" }) };
  if (!stream) {
    if (text.includes("SLOW")) return;
    return void send(200, {
      ...shared,
      object: "chat.completion",
      choices: [{ index: 0, message, finish_reason: reason }],
      usage,
    });
  }

  const chunk = (delta: object, finish_reason: string | null = null) =>
    response.write(
      `data: ${
        JSON.stringify({ ...shared, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] })
      }\n\n`,
    );
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  if (name) chunk({ role: "assistant", tool_calls: [{ index: 0, ...call }] });
  else chunk({ role: "assistant", content: "Hello" });
  if (text.includes("SLOW")) return;
  if (text.includes("EARLY")) return void response.end();
  if (text.includes("FAULT")) {
    return void response.end(
      `data: ${JSON.stringify({ error: { message: "Overloaded", code: 529 } })}\n\ndata: [DONE]\n\n`,
    );
  }
  if (text.includes("CUT")) return void cuts.set(text, response);
  if (!name) chunk({ content: " Ada" });
  chunk({}, reason);
  response.write(`data: ${JSON.stringify({ ...shared, object: "chat.completion.chunk", choices: [], usage })}\n\n`);
  response.end("data: [DONE]\n\n");
};

export async function startModelServer(): Promise<ModelServer> {
  const requests: Body[] = [];
  const cuts = new Map<string, ServerResponse>();
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const body = JSON.parse(text) as Body;
    requests.push(body);
    answer(body, response, cuts);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests: () => requests.splice(0),
    cut: (message) => void cuts.get(message)?.destroy(),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
