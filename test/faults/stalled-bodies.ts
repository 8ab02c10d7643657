// Clients that send all of a body but its last byte, again and again, beside an application: strangers at the form that signs
// in, strangers at every path, and another workspace.
import { Buffer } from "node:buffer";
import { createToken } from "../../src/management/access/tokens.ts";
import { openDatabase } from "../../src/database/file/open.ts";
import { call } from "../actions.ts";
import { send } from "../conformance/http-client.ts";
import { memoryOf, startService } from "../conformance/processes.ts";
import { adminToken, createTenant, managementOf } from "../helpers.ts";
import { pathsOf } from "../http/paths.ts";
import { audit, createSeededDatabase } from "./audit.ts";
import type { Audit } from "./audit.ts";
import { inFolder, sleep, spread } from "./fault.ts";
import type { Fault } from "./fault.ts";
import { headOf, pour } from "./hostile-bodies.ts";
import { startLoad } from "./load.ts";

const mebibyte = 1024 * 1024;
const connections = 70; // of the attack: more than bodies of 1 MiB fit into the budget
const attackTime = 8_000; // ms, so that bodies which end after 5 s are replaced
const pause = 500; // ms before a connection that was closed is replaced: some 70 MiB/s at most
const maxGrowth = 200; // MiB

/** What the heads of the attack have, besides the length of the body. The same head is sent to each path in turn. */
type Attack = { headers: string[]; paths: string[]; bytes: number };

const ownPage = "Sec-Fetch-Site: same-origin";

async function attacksOn(url: string, key: string, token: string): Promise<Record<string, Attack>> {
  const paths = pathsOf((await send(url, "/openapi.json")).text);
  const signIn = ["/console/sign-in"], bytes = mebibyte;
  const bearer = (secret: string) => [ownPage, `Authorization: Bearer ${secret}`];
  return {
    "strangers at the form that signs in": { headers: [ownPage], paths: signIn, bytes },
    "strangers with small forms": { headers: [ownPage], paths: signIn, bytes: 4_000 },
    "strangers at every path": { headers: [ownPage, `Cookie: pl_session=${"A".repeat(127)}`], paths, bytes },
    "another workspace's key": { headers: bearer(key), paths: ["/v1/diagnosis", "/v1/diagnoses"], bytes },
    "another workspace's token": { headers: bearer(token), paths, bytes },
  };
}

/** Keeps connections open that each have sent all of a body but its last byte, in one piece or in chunks. */
function startAttack(url: string, { headers, paths, bytes }: Attack) {
  const body = Buffer.alloc(bytes - 1, "x");
  const chunk = Buffer.concat([Buffer.from(`${bytes.toString(16)}\r\n`), body]);
  let isOver = false, count = 0;
  const work = Array.from({ length: connections }, async () => {
    while (!isOver) {
      const nth = count++;
      const isChunked = nth % 2 === 1;
      const framing = isChunked ? "Transfer-Encoding: chunked" : `Content-Length: ${bytes}`;
      const head = headOf(paths[nth % paths.length]!, [...headers, framing]);
      const { socket, received } = await pour(url, head, () => [isChunked ? chunk : body]);
      while (!isOver && received() === "" && !socket.closed) await sleep(50);
      socket.destroy();
      if (!isOver) await sleep(pause);
    }
  });
  return async () => {
    isOver = true;
    await Promise.all(work);
  };
}

/** Signs in as a person does. Returns the status of the answer. */
async function signIn(url: string): Promise<number> {
  const headers = [ownPage, "Content-Type: application/x-www-form-urlencoded"];
  const { status } = await send(url, "/console/sign-in", { method: "POST", headers, body: `token=${adminToken}` });
  return status;
}

/** Runs each attack once a round. Every request of the application must be accepted meanwhile, and people can sign in. */
export const stalledBodies: Fault = {
  rounds: 1,
  hit: (runtime, rounds, say) =>
    inFolder(async (path) => {
      const totals: Audit = { lost: 0, doubled: 0, faults: [] };
      const figures: string[] = [];
      let requests = 0;
      for (let round = 1; round <= rounds; round++) {
        const seeded = await createSeededDatabase(`file:${path}/ledger-${round}.db`);
        const { key, token } = await addWorkspace(seeded.url);
        const service = await startService(runtime, { DATABASE_URL: seeded.url, ADMIN_TOKEN: adminToken });
        const load = startLoad({ bases: [service.url], connections: 4, tenant: seeded.tenant });
        await sleep(1_000);
        const before = await memoryOf(service.pid, "VmHWM") ?? 0;
        for (const [name, attack] of Object.entries(await attacksOn(service.url, key, token))) {
          const stop = startAttack(service.url, attack);
          await sleep(attackTime);
          const status = await signIn(service.url);
          if (status !== 303) totals.faults.push(`${name}: signing in got ${status}`);
          await stop();
          say(`${round} of ${rounds}, ${name}: ${spread(load.outcomes)}`);
        }
        await load.stop();
        const growth = (await memoryOf(service.pid, "VmHWM") ?? 0) - before;
        await service.stop();
        const { lost, doubled, faults } = await audit(seeded, load.outcomes);
        totals.lost += lost;
        totals.doubled += doubled;
        totals.faults.push(...faults);
        const refused = [...load.outcomes.statuses].filter(([status]) => status !== 200 && status !== 201);
        for (const [status, count] of refused) {
          totals.faults.push(`${count} of the application's requests got ${status}`);
        }
        if (growth > maxGrowth) totals.faults.push(`memory grew by ${growth} MiB`);
        requests += load.outcomes.requests;
        figures.push(`${spread(load.outcomes)}; memory +${growth} MiB`);
      }
      return { ...totals, rounds, requests, figures: figures.join("; ") };
    }),
};

/** Adds another workspace to a database, with a key and a token. */
async function addWorkspace(url: string): Promise<{ key: string; token: string }> {
  const database = openDatabase(url, "manage");
  const admin = managementOf(database, Date.now);
  const { workspaceId, key } = await createTenant(admin, 1_000_000, "Other");
  const { token } = await call(createToken, admin, { name: "Other", role: "admin", workspaceId });
  await database.close();
  return { key, token };
}
