// `promptledger prove`: kills a service repeatedly while apps use it, and compares the answers that they got with the
// data on disk. The database is new, in a new folder on the disk to be tested.
import { join, resolve } from "node:path";
import process from "node:process";
import { jsonText } from "../../common/json-text.ts";
import type { Database } from "../../database/database.ts";
import { openFile } from "../../database/file/file.ts";
import { findDamage } from "../../database/file/maintenance.ts";
import { migrate } from "../../database/migrate.ts";
import { migrations } from "../../database/migrations.ts";
import { text } from "../../database/row.ts";
import { commitAt, idAt } from "../../ledger/blocks.ts";
import { createApiKey } from "../../management/access/api-keys.ts";
import { createDeployment } from "../../management/deployments/deployments.ts";
import { perform } from "../../management/kernel/operation.ts";
import type { Operation } from "../../management/kernel/operation.ts";
import { verify } from "../../management/verify/verify.ts";
import { createPrompt } from "../../management/prompts/versions.ts";
import { createWorkspace } from "../../management/kernel/workspaces.ts";
import { onFile } from "../atomic-file.ts";
import { openOwnFolder } from "../own-folder.ts";
import { killAll, startOwn } from "../own-service.ts";
import { startApps } from "./prove-apps.ts";
import type { App, Told } from "./prove-apps.ts";

/** Result of the trial. */
export type Proof = {
  /** Number of times the service was killed. */
  kills: number;
  /** Number of successful requests, and number without an answer. */
  answers: number;
  unanswered: number;
  /** Confirmed records that are not stored, and records that are stored more than once. */
  lost: number;
  twice: number;
  /**
   * The limit of a workspace in which apps raced for the last requests, the number that it counted, and the number
   * sent.
   */
  quota: { limit: number; used: number; requests: number };
  /** Other faults: damaged pages, or a ledger that does not balance. */
  faults: string[];
  durationMs: number;
};

export type ProveOptions = {
  /** The folder in which to create that of the trial. */
  folder: string;
  kills: number;
  report(progress: string): void;
};

const interrupted = 130; // as a shell reports a program that Ctrl-C ended
const requestsPerKill = 50; // of the quota that apps race for
const betweenKills = { least: 300, spread: 900 }; // ms

/** Runs the trial. Its folder is removed when the process ends, also by Ctrl-C. */
export async function prove({ folder, kills, report }: ProveOptions): Promise<Proof> {
  const startedAt = performance.now();
  const interrupt = () => process.exit(interrupted);
  process.once("exit", killAll).once("SIGINT", interrupt).once("SIGTERM", interrupt).once("SIGHUP", interrupt);
  try {
    const own = await onFile(
      folder,
      "written",
      () => openOwnFolder(resolve(folder), "promptledger-prove-"),
    );
    const url = `file:${join(own, "prove.db")}`, limit = requestsPerKill * kills;
    const workspaces = await seed(url, limit);
    const told = await trial(url, workspaces, kills, report);
    report("Counting what is on disk");
    const found = await audit(url, workspaces, told);
    const { answers, unanswered, racing } = told;
    return {
      ...{ kills, answers, unanswered, lost: found.lost, twice: found.twice },
      quota: { limit, used: found.raced, requests: racing.requests },
      faults: found.faults,
      durationMs: Math.round(performance.now() - startedAt),
    };
  } finally {
    killAll();
    process.off("exit", killAll).off("SIGINT", interrupt).off("SIGTERM", interrupt).off("SIGHUP", interrupt);
  }
}

/** The workspace whose records are counted, and the one whose quota apps race for. */
type Workspaces = { steady: App; racing: App };

const withDatabase = async <T>(url: string, use: (database: Database) => Promise<T>): Promise<T> => {
  const database = openFile(url, "manage");
  try {
    return await use(database);
  } finally {
    database.close();
  }
};

const callOn =
  (database: Database) =>
  <Input extends object, Output>(operation: Operation<Input, Output>, value: Input): Promise<Output> =>
    perform(
      operation,
      { database, clock: Date.now, caller: { source: "command line", actor: "prove", role: "owner" } },
      {
        value,
      },
    );

const seed = (url: string, limit: number): Promise<Workspaces> =>
  withDatabase(url, async (database) => {
    await migrate(database, migrations, Date.now());
    const call = callOn(database);
    const create = async (name: string, monthlyLimit: number): Promise<App> => {
      const { id: workspaceId } = await call(createWorkspace, { name, monthlyLimit });
      const { key } = await call(createApiKey, { workspaceId });
      const messages = jsonText(JSON.stringify([{ role: "user", content: "{{question}}" }]));
      const { id: promptId } = await call(createPrompt, {
        workspaceId,
        title: name,
        description: "",
        name,
        messages,
        llmConfig: jsonText("{}"),
      });
      const { id: deployId } = await call(createDeployment, { workspaceId, promptId, name: "production" });
      return { workspaceId, key, deployId };
    };
    return { steady: await create("steady", 1_000_000_000), racing: await create("racing", limit) };
  });

/** Kills the service while the apps use it, and starts it again, `kills` times. */
async function trial(
  url: string,
  { steady, racing }: Workspaces,
  kills: number,
  report: (progress: string) => void,
): Promise<Told> {
  const settings = { DATABASE_URL: url };
  let service = await startOwn(settings);
  const { told, stop, abandon } = startApps(() => service.url, steady, racing);
  try {
    for (let kill = 1; kill <= kills; kill++) {
      report(`${kill - 1} of ${kills} kills, ${told.answers} answers`);
      await new Promise((resolve) => setTimeout(resolve, betweenKills.least + Math.random() * betweenKills.spread));
      await service.end("SIGKILL");
      service = await startOwn(settings);
    }
    await stop();
  } finally {
    // A service that does not start again would keep them waiting.
    abandon();
  }
  await service.end("SIGTERM");
  return told;
}

type Found = Pick<Proof, "lost" | "twice" | "faults"> & { raced: number };

/** Compares the answers that the apps got with the database, which must not be open in another process. */
const audit = (url: string, { steady, racing }: Workspaces, told: Told): Promise<Found> =>
  withDatabase(url, async (database) => {
    const damage = await findDamage(database);
    if (damage !== undefined) return { lost: 0, twice: 0, raced: 0, faults: [`The database is damaged: ${damage}`] };
    const { ledgers, audit } = await callOn(database)(verify, {});
    const usedBy = ({ workspaceId }: App) =>
      ledgers.reduce((sum, ledger) => sum + (ledger.workspaceId === workspaceId ? ledger.used : 0), 0);
    const rows = await database.read({
      sql: `select ${idAt("diag", "d.position")} as id, d.session_id as session from diagnoses d cross join ${
        commitAt("d.position")
      }`,
    });
    const ids = new Set(rows.map((row) => text(row, "id")));
    const sessions = new Set(rows.map((row) => text(row, "session")));
    const faults = [...told.strange].map(([answer, times]) => `${times} requests got the answer ${answer}`);
    faults.push(
      ...ledgers.filter(({ balanced }) => !balanced).map(({ workspaceId, month }) =>
        `The ledger of ${workspaceId} in ${month} does not balance`
      ),
    );
    if (told.isIncomplete) faults.push("The service did not answer all requests within a minute after the last kill");
    if (audit?.isIntact === false) faults.push(`The audit log is broken at ${audit.brokenAt}`);
    // A request without an answer may have been accepted or not.
    const { answered, unanswered } = told.reads, reads = usedBy(steady) - told.records.length;
    if (reads < answered || reads > answered + unanswered) {
      faults.push(`${reads} reads are counted, of ${answered} that were answered and ${unanswered} that were not`);
    }
    return {
      lost: told.records.filter((id) => !ids.has(id)).length,
      twice: rows.length - sessions.size,
      raced: usedBy(racing),
      faults,
    };
  });
