// Nothing breaks: the service runs from the package for minutes or hours, with traffic, probes each second, someone who looks
// at it each minute, and a backup every ten minutes. It must never answer 5xx, and never stop.
import { execFile } from "node:child_process";
import { mkdir, rm, stat, writeFile } from "node:fs/promises";
import process from "node:process";
import { promisify } from "node:util";
import { describeError } from "../../src/common/log.ts";
import { send } from "../conformance/http-client.ts";
import { memoryOf, startProgram } from "../conformance/processes.ts";
import { adminToken, goodBody } from "../helpers.ts";
import { commandOf, pathOf } from "../runtimes.ts";
import type { Runtime } from "../runtimes.ts";
import { audit, createSeededDatabase } from "./audit.ts";
import { inFolder, sleep, spread } from "./fault.ts";
import type { Fault } from "./fault.ts";
import { emptyOutcomes } from "./load.ts";

const second = 1_000, minute = 60 * second; // ms
const pause = 50; // ms between two requests of a connection
const connections = 4;

/** Packs the package and installs it in a folder. Returns its command line. */
async function install(folder: string): Promise<string> {
  const run = promisify(execFile);
  await mkdir(`${folder}/app`);
  await writeFile(`${folder}/app/package.json`, '{"private": true}');
  const { stdout } = await run("npm", ["pack", "--silent", "--pack-destination", folder], { cwd: pathOf(".") });
  const packed = `../${stdout.trim().split("\n").at(-1)!}`;
  await run("npm", ["install", "--silent", "--no-audit", "--no-fund", packed], { cwd: `${folder}/app` });
  return `${folder}/app/node_modules/promptledger/dist/cli.js`;
}

/** The command that runs an installed file on a runtime. */
const commandFor = (runtime: Runtime, file: string): string[] =>
  runtime === "Node" ? ["node", file] : [...commandOf[runtime]("src/cli.ts").slice(0, -1), file];

const describeFailure = (error: unknown) => ({ status: 0, text: describeError(error) });

/** A round is a minute. */
export const dailyUse: Fault = {
  rounds: 2,
  hit: (runtime, rounds, say) =>
    inFolder(async (folder) => {
      const cli = commandFor(runtime, await install(folder));
      const file = `${folder}/ledger.db`;
      const { url, tenant } = await createSeededDatabase(`file:${file}`);
      const settings = { DATABASE_URL: url, ADMIN_TOKEN: adminToken, PORT: "0" };
      const listening = /Listening.*?(http:\/\/[\d.]+:\d+)/;
      const service = await startProgram([...cli, "serve"], settings, listening);
      const outcomes = emptyOutcomes();
      const faults: string[] = [];
      const failed = new Map<string, number>();
      let isOver = false, looks = 0, changes = 0, backups = 0;

      /** Sends a request, and returns its status. */
      async function ask(path: string, token: string, body?: string): Promise<number> {
        const authorized = { headers: [`Authorization: Bearer ${token}`] };
        const request = body === undefined ? authorized : { ...authorized, method: "POST", body };
        const began = performance.now();
        const { status, text } = await send(service.seen, path, request).catch(describeFailure);
        outcomes.slowest = Math.max(outcomes.slowest, performance.now() - began);
        if (status === 201) outcomes.recorded.push(JSON.parse(text).id);
        const what = `${path} ${status} ${text}`;
        if (status === 0 || status >= 400) failed.set(what, (failed.get(what) ?? 0) + 1);
        return status;
      }

      async function call(path: string, body?: string): Promise<void> {
        outcomes.requests++;
        const status = await ask(path, tenant.key, body);
        outcomes.statuses.set(status, (outcomes.statuses.get(status) ?? 0) + 1);
      }

      async function look(path: string): Promise<void> {
        looks++;
        await ask(path, adminToken);
      }

      const repeat = async (ms: number, act: () => Promise<void>) => {
        while (!isOver) await Promise.all([act(), sleep(ms)]);
      };
      let modified = 0; // when a checkpoint last wrote to the file
      const { deployId, workspaceId } = tenant;
      const work = [
        ...Array.from({ length: connections }, () =>
          repeat(pause, async () => {
            await call(`/v1/prompts?deployId=${deployId}`);
            const number = outcomes.requests;
            const record = {
              ...goodBody,
              sessionId: `session-${number}`,
              content: { input: "x".repeat(number % 2_000) },
            };
            await call(`/v1/diagnosis?deployId=${deployId}`, JSON.stringify(record));
          })),
        repeat(second, async () => {
          await look("/readyz");
          await look("/metrics");
          const { mtimeMs } = await stat(file);
          if (mtimeMs !== modified) changes++;
          modified = mtimeMs;
        }),
        repeat(minute, async () => {
          const from = Date.now() - minute;
          for (const view of ["stats", "diagnoses?text=nothing&limit=5", `diagnoses/export?from=${from}`]) {
            await look(`/admin/v1/deployments/${deployId}/${view}`);
          }
          await look(`/admin/v1/workspaces/${workspaceId}/sessions`);
          await look("/admin/v1/verify");
        }),
        repeat(10 * minute, async () => {
          const backup = `${folder}/backup-${++backups}.db`;
          const [program, ...args] = [...cli, "backup", backup];
          await promisify(execFile)(program!, args, { env: { ...process.env, ...settings } }).catch((error) => {
            faults.push(`backup: ${error}`);
          });
          await rm(backup, { force: true });
        }),
      ];
      const memory = async () => `${await memoryOf(service.pid, "VmRSS") ?? "?"} MiB`;
      for (let passed = 1; passed <= rounds; passed++) {
        await sleep(minute);
        if (passed % 10 === 0) say(`${passed} of ${rounds} minutes: ${spread(outcomes)}, ${await memory()}`);
      }
      const resident = await memory();
      isOver = true;
      // The look and the backup rest for long.
      await Promise.race([Promise.all(work), sleep(2 * second)]);
      const code = await service.stop();
      if (code !== 0) faults.push(`exit code ${code}`);
      for (const [what, count] of failed) faults.push(`${count} × ${what.slice(0, 200)}`);
      if (/ (warn|error) /.test(service.output())) faults.push("the log has a warning");
      const found = await audit({ url, tenant }, outcomes);
      const figures = [
        `${spread(outcomes)}, ${looks} looks and ${backups} backups`,
        `slowest ${Math.round(outcomes.slowest)} ms`,
        `checkpoints in ${changes} seconds`,
        `${resident} at the end`,
      ].join("; ");
      return { ...found, faults: [...faults, ...found.faults], rounds, requests: outcomes.requests, figures };
    }),
};
