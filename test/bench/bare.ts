// The ceiling: a handler on the same runtime and adapter that reads the URL and the JSON and answers JSON, without a store.
import process from "node:process";
import type { Listen } from "../../src/runtime/server.ts";
import { currentRuntime } from "../runtimes.ts";

const { listen }: { listen: Listen } = await import(`../../src/runtime/${currentRuntime.toLowerCase()}.ts`);

const server = await listen(
  async (request) => {
    const deployId = new URL(request.url).searchParams.get("deployId");
    const body = request.method === "POST" ? JSON.parse(await request.text()) : {};
    return new Response(JSON.stringify({ deployId, sessionId: body.sessionId }), {
      status: request.method === "POST" ? 201 : 200,
      headers: { "Content-Type": "application/json" },
    });
  },
  { host: "127.0.0.1", port: Number(process.env.PORT) },
  () => {},
);

console.log(`Listening url=http://127.0.0.1:${server.port}`);
