// Every command, in the order in which help shows them.
import { describeDatabase } from "../database/location.ts";
import { readConfig } from "../runtime/settings/config.ts";
import type { DatabaseLocation } from "../database/location.ts";
import { newAdminToken } from "../common/ids.ts";
import { formatBytes } from "../runtime/atomic-file.ts";
import { backUp } from "../runtime/backups/backup.ts";
import { unusableDatabase } from "../runtime/file-fault.ts";
import { restore } from "../runtime/backups/restore.ts";
import type { Terminal } from "../runtime/terminal.ts";
import { countOf, describeUpgrade, listMissing } from "../database/migrate.ts";
import type { Migration } from "../database/migrate.ts";
import { sizeOf } from "../database/file/maintenance.ts";
import { migrations } from "../database/migrations.ts";
import { openWithDriver } from "../database/file/open-migrated.ts";
import { fileOf } from "../database/file/source.ts";
import { operations } from "../management/index.ts";
import { accessPresentations, auditPresentations } from "./nouns/access.ts";
import { alertPresentations } from "./nouns/alerts.ts";
import { allowance, backupCommands, findSource } from "./service/backups.ts";
import { budgetPresentations } from "./nouns/budgets.ts";
import type { Command, Outcome } from "./frame/command.ts";
import { changePresentations } from "./nouns/changes.ts";
import { completionFor } from "./completion.ts";
import type { Shell } from "./completion.ts";
import { eventPresentations } from "./nouns/events.ts";
import { checkCommands } from "./files/repository.ts";
import { feedbackPresentations } from "./nouns/feedback.ts";
import { importCommands } from "./files/import.ts";
import { mcpCommands } from "./service/mcp.ts";
import { pullCommands } from "./files/pull.ts";
import { releaseCommands } from "./files/release.ts";
import { typesCommands } from "./files/types.ts";
import { deploymentPresentations } from "./nouns/deployments.ts";
import { describeCreated, openLocal } from "./frame/local.ts";
import { format, formatElapsed } from "./frame/format.ts";
import { commandsOf } from "./frame/operation-commands.ts";
import { readUsage } from "./frame/parameters.ts";
import { pricePresentations } from "./nouns/prices.ts";
import { promptCommands, promptPresentations } from "./nouns/prompts.ts";
import { proveCommands } from "./service/prove.ts";
import { recordPresentations, sessionPresentations } from "./nouns/records.ts";
import { reviewPresentations } from "./nouns/reviews.ts";
import { webhookPresentations } from "./nouns/webhooks.ts";

// Only the commands that start a service load it and its console, which take 12 MB.
const serviceCommands: Command[] = [
  {
    ...readUsage("token generate"),
    summary: "Print a random token for ADMIN_TOKEN, the owner's. It is not stored",
    needs: "nothing",
    runLocally() {
      const token = newAdminToken();
      return Promise.resolve({
        data: { token },
        text: () => `${token}\n`,
        note: "Start the service with it as ADMIN_TOKEN, and use it as PROMPTLEDGER_TOKEN with --server",
      });
    },
  },
  {
    ...readUsage("completion SHELL", {}, { SHELL: "The shell for which to print a script" }),
    summary: "Print a script that completes commands and options",
    needs: "nothing",
    runLocally({ args }) {
      const script = completionFor(args.text<Shell>("SHELL"), commands);
      return Promise.resolve({ data: { script }, text: () => script });
    },
  },
  {
    ...readUsage("migrate [--check]", {}, { check: "Only list the missing migrations, and exit 1 if there are any" }),
    summary: "Migrate the database to the current schema",
    needs: "database",
    async runLocally({ args, terminal }) {
      if (args.has("check")) return await checkSchema(terminal);
      const start = performance.now();
      const { database, applied, close } = await openLocal(terminal, "migrate");
      const bytes = await sizeOf(database).finally(close);
      const name = describeDatabase(readConfig(terminal.env).database.url),
        durationMs = Math.round(performance.now() - start);
      const note = applied.length === 0
        ? upToDate(name)
        : `Applied ${countOf(applied)} to ${name} (${formatBytes(bytes)}) in ${formatElapsed(durationMs)}`;
      return { data: { applied, database: name, bytes, durationMs }, text: () => "", note };
    },
  },
  {
    ...readUsage("backup FILE", {}, { FILE: "The file to create" }),
    summary: "Copy the database to a new file; the service may keep running",
    needs: "database",
    async runLocally({ args, terminal }) {
      const start = performance.now();
      const made = await backUp(readConfig(terminal.env).database, args.text("FILE"), terminal);
      const durationMs = Math.round(performance.now() - start);
      return {
        data: { ...made, durationMs },
        text: () => format(made),
        note: `Backed up ${formatBytes(made.bytes)} to ${made.file} in ${formatElapsed(durationMs)}`,
      };
    },
  },
  {
    ...readUsage("restore BACKUP [--allow-unauthenticated]", {}, {
      ...allowance,
      BACKUP: "A file; PLACE@TIME, the newest in a folder or bucket from that time or before; or latest, of BACKUP_TO",
    }),
    summary: "Replace the database with a backup, after checking its pages and its ledger; the old database is kept",
    needs: "database",
    async runLocally({ args, terminal }) {
      const source = await findSource(args, terminal);
      const restored = await restore(readConfig(terminal.env).database, source, terminal);
      const { applied: _, ...shown } = restored;
      const notes = restored.replaced === null ? [describeCreated(terminal.env)] : [];
      if (restored.missing.length > 0) {
        notes.push(`The database lacks ${countOf(restored.missing)}, as the backup did. serve and migrate apply them`);
      }
      return { data: restored, text: () => format(shown), note: notes.join("\n") || undefined };
    },
  },
  {
    ...readUsage("serve"),
    summary:
      "Start the service with the settings in the environment. Apps see their quota in its X-RateLimit-… response headers",
    needs: "service",
    async runLocally() {
      const { serve } = await import("../runtime/serving/serve.ts");
      await serve();
      return {};
    },
  },
  {
    ...readUsage("demo"),
    summary: "Serve a temporary database with sample data, and print a link to its console",
    needs: "service",
    async runLocally({ terminal }) {
      const { demo } = await import("../runtime/demo/demo.ts");
      await demo(terminal);
      return {};
    },
  },
];

const upToDate = (database: string): string => `The schema of ${database} is up to date`;

async function checkSchema({ env, exists }: Terminal): Promise<Outcome> {
  const { database: location } = readConfig(env);
  const path = fileOf(location);
  const missing = path === undefined || await exists(path) ? await listMissingIn(location) : migrations;
  const isNew = missing.length === migrations.length;
  return {
    data: { missing: missing.map(({ name }) => name) },
    note: missing.length === 0
      ? upToDate(describeDatabase(location.url))
      : `The schema is out of date. ${isNew ? "Run promptledger migrate" : describeUpgrade(missing, path)}`,
    failed: missing.length > 0,
  };
}

async function listMissingIn(location: DatabaseLocation): Promise<readonly Migration[]> {
  const database = await openWithDriver(location, "manage");
  try {
    return await listMissing(database, migrations);
  } catch (error) {
    throw await unusableDatabase(location, error);
  } finally {
    database.close();
  }
}

const operationCommands = commandsOf(operations, [
  ...accessPresentations,
  ...promptPresentations,
  ...deploymentPresentations,
  ...changePresentations,
  ...recordPresentations,
  ...sessionPresentations,
  ...feedbackPresentations,
  ...reviewPresentations,
  ...pricePresentations,
  ...budgetPresentations,
  ...auditPresentations,
  ...eventPresentations,
  ...webhookPresentations,
  ...alertPresentations,
]);

const folderCommands = [...releaseCommands, ...pullCommands, ...checkCommands, ...typesCommands, ...importCommands];

const others = [
  ...operationCommands,
  ...folderCommands,
  ...mcpCommands,
  ...serviceCommands,
  ...backupCommands,
  ...proveCommands,
];
const nouns = others.map(({ name: [noun] }) => noun);
const orderOf = ({ name: [noun] }: Command) => nouns.indexOf(noun);

/** All commands, grouped by noun. */
export const commands: Command[] = [...promptCommands, ...others].sort((a, b) => orderOf(a) - orderOf(b));

/** The words of a command, with the name that its noun has now. */
export const withCurrentNoun = ([noun, ...words]: string[]): string[] =>
  noun === undefined ? [] : [noun === "diagnosis" ? "record" : noun, ...words];

/** The commands with the longest name with which these words begin. */
export function findByName(words: string[]): Command[] {
  const called = commands.filter(({ name }) => name.every((word, index) => word === words[index]));
  const longest = Math.max(...called.map(({ name }) => name.length));
  return called.filter(({ name }) => name.length === longest);
}
