// Runs operations on the database in DATABASE_URL.
import { describeDatabase, filePathOf, isFileUrl } from "../../database/location.ts";
import { adminTokenFault } from "../../http/settings.ts";
import { readConfig } from "../../runtime/settings/config.ts";
import { invalid } from "../../common/errors.ts";
import type { Database } from "../../database/database.ts";
import type { SchemaPolicy } from "../../database/file/open-migrated.ts";
import { perform } from "../../management/kernel/operation.ts";
import type { Caller } from "../../management/kernel/operation.ts";
import { addressFault } from "../../runtime/serving/outbound.ts";
import { openConfigured } from "../../runtime/serving/open-configured.ts";
import type { Terminal } from "../../runtime/terminal.ts";
import { userOf } from "./command.ts";
import type { Call } from "./command.ts";
import { stripControls } from "./format.ts";

/** An open database. `callAs` runs operations for a caller other than the user. */
type Local = {
  call: Call;
  callAs(caller: Omit<Caller, "actor">): Call;
  database: Database;
  applied: string[];
  close(): void;
};

/** Opens the database. `applied` names the missing migrations that `schema` allowed. */
export async function openLocal(
  terminal: Terminal,
  schema: SchemaPolicy,
): Promise<Local> {
  const { env, say, report, exists } = terminal;
  const config = readConfig(env);
  const { url } = config.database;
  if (schema === "check" && isFileUrl(url) && !await exists(filePathOf(url))) {
    throw invalid(`The database ${nameDatabase(env, url)} does not exist. Create it with workspace create or migrate`);
  }
  const notify = (notice: string) => say(`${stripControls(notice)}\n`);
  const { database, applied } = await openConfigured(config.database, "manage", { schema, notify });
  if (applied.includes("001-create-catalog")) say(`${describeCreated(env)}\n`);
  const secrets = [config.adminToken, env.PROMPTLEDGER_TOKEN]
    .filter((token): token is string => token !== undefined && adminTokenFault(token) === undefined);
  const urlFault = (url: string) => addressFault(url, config.webhookAllow);
  const store = { database, clock: Date.now, report, secrets, urlFault }, actor = userOf(terminal) ?? "";
  const callAs: Local["callAs"] = (caller) => (operation, input) =>
    perform(operation, { ...store, caller: { ...caller, actor } }, { value: input });
  return {
    call: callAs({ source: "command line", role: "owner" }),
    callAs,
    database,
    applied,
    close: database.close,
  };
}

/** Names the created database, because it may not be the one that the user meant. */
export function describeCreated(env: Terminal["env"]): string {
  const { url } = readConfig(env).database;
  return `Created the database ${describeDatabase(url)}${isConfigured(env) ? "" : ", because DATABASE_URL is not set"}`;
}

const nameDatabase = (env: Terminal["env"], url: string): string =>
  `${describeDatabase(url)} (DATABASE_URL${isConfigured(env) ? "" : " is not set"})`;

const isConfigured = (env: Terminal["env"]): boolean => Boolean(env.DATABASE_URL || env.TURSO_DATABASE_URL);
