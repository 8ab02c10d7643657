// A Worker with a client at module scope, which all of its requests share. `/` answers with the source and the version of the
// prompt, `/record` records a call besides.
// @ts-expect-error -- only Workers have it
import { env, waitUntil } from "cloudflare:workers";
import { createClient } from "./patient.ts";

const { PROMPTLEDGER_URL: url, PROMPTLEDGER_API_KEY: apiKey } = env as Record<string, string>;
const ledger = createClient({ url, apiKey, waitUntil });

export default {
  async fetch(request: Request): Promise<Response> {
    const prompt = await ledger.prompt("greeting@production");
    const { searchParams, pathname } = new URL(request.url);
    if (pathname === "/record") {
      prompt.call({ sessionId: searchParams.get("session")! }).done({ status: 1, input: prompt.fill({ name: "Ada" }) });
    }
    return Response.json({ source: prompt.source, version: prompt.version, ...ledger.stats() });
  },
};
