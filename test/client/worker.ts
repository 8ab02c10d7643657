// A Worker with a client at module scope, which all of its requests share. `/` answers with the source and the version of the
// prompt, `/record` records a call besides. `/choices` has a 1 for each of 10,000 keys that gets the candidate, and a 0 for others.
// @ts-expect-error -- only Workers have it
import { env, waitUntil } from "cloudflare:workers";
import { getsCandidate } from "../../src/client/rollout.ts";
import { createClient } from "./patient.ts";

const { PROMPTLEDGER_URL: url, PROMPTLEDGER_API_KEY: apiKey } = env as Record<string, string>;
const ledger = createClient({ url, apiKey, waitUntil });

export default {
  async fetch(request: Request): Promise<Response> {
    const { searchParams, pathname } = new URL(request.url);
    if (pathname === "/choices") {
      let choices = "";
      for (let nth = 0; nth < 10_000; nth++) {
        const percent = (nth % 1_000 + 1) / 10;
        choices += +await getsCandidate("dep_1", { salt: "salt_1", percent }, `user-${nth}`);
      }
      return Response.json({ choices });
    }
    const prompt = await ledger.prompt("greeting@production");
    if (pathname === "/record") {
      prompt.call({ sessionId: searchParams.get("session")! }).done({ status: 1, input: prompt.fill({ name: "Ada" }) });
    }
    return Response.json({ source: prompt.source, version: prompt.version, ...ledger.stats() });
  },
};
