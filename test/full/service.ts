// A started service whose workspace is full, with as much memory as a small container has, and what each request to it takes.
import { writeFile } from "node:fs/promises";
import { migrate } from "../../src/database/migrate.ts";
import { migrations } from "../../src/database/migrations.ts";
import { openDatabase } from "../../src/database/file/open.ts";
import { createFolder, memoryOf, startService } from "../conformance/processes.ts";
import { sendToken } from "../console/visitor.ts";
import { adminToken, createTenant, managementOf, noon, readAnswer } from "../helpers.ts";
import type { Runtime } from "../runtimes.ts";
import type { Size } from "./rows.ts";
import { agentSteps, faceSteps, operationSteps, pageSteps } from "./walk.ts";
import type { Step } from "./walk.ts";
import { fillWorkspace } from "./workspace.ts";

/** The memory that a container has. Deno has more outside of its heap. */
export const containerMebibytes: Record<Runtime, number> = { Node: 512, Bun: 512, Deno: 640 };
/** As a runtime sizes its heap in such a container. */
const heapSettings: Record<Runtime, Record<string, string>> = {
  Node: { NODE_OPTIONS: "--max-old-space-size=256" },
  Bun: { BUN_JSC_forceRAMSize: String(512 * 1024 * 1024) },
  Deno: { DENO_V8_FLAGS: "--max-old-space-size=256" },
};

/** A response and its cost: bytes, ms, and MiB of the process before it and at most while it ran, null where that is not known. */
export type Taken = {
  status: number;
  bytes: number;
  text: string;
  ms: number;
  before: number | null;
  peak: number | null;
};

/** Starts a service with a full workspace. `peak` is what its process took at most since, in MiB. */
export async function startFull(runtime: Runtime, size: Size) {
  const folder = await createFolder(), url = `file:${folder.path}/ledger.db`;
  const database = openDatabase(url);
  await migrate(database, migrations, noon);
  const tenant = await createTenant(managementOf(database), Number.MAX_SAFE_INTEGER);
  const full = await fillWorkspace(database, tenant, size);
  await database.close();
  const settings = { DATABASE_URL: url, ADMIN_TOKEN: adminToken, MCP: "true" };
  const service = await startService(runtime, { ...settings, ...heapSettings[runtime] });
  const send = async (path: string, init: RequestInit) => await readAnswer(await fetch(service.url + path, init));
  const { headers } = await sendToken(
    { send: (path, init = {}) => send(path, { ...init, redirect: "manual" }) },
    adminToken,
  );
  const cookie = headers.get("Set-Cookie")?.split(";")[0] ?? "";
  return {
    full,
    steps: [...pageSteps(full, cookie), ...agentSteps(full), ...faceSteps(full), ...operationSteps(full)],
    peak: () => memoryOf(service.pid, "VmHWM"),
    /** Sends a request and reads its answer, of which nothing is kept but the beginning. */
    async take({ method, path, headers, body }: Step): Promise<Taken> {
      const before = await memoryOf(service.pid, "VmRSS");
      // The peak is counted anew. Only Linux can do that.
      await writeFile(`/proc/${service.pid}/clear_refs`, "5").catch(() => {});
      const started = performance.now();
      const response = await fetch(service.url + path, { method, headers, redirect: "manual", ...body && { body } });
      let bytes = 0, text = "";
      for await (const part of response.body ?? []) {
        if (bytes < 300) text += new TextDecoder().decode(part.slice(0, 300));
        bytes += part.length;
      }
      const ms = performance.now() - started, peak = await memoryOf(service.pid, "VmHWM");
      return { status: response.status, bytes, text, ms, before, peak };
    },
    async stop(): Promise<void> {
      await service.stop();
      await folder.remove();
    },
  };
}
