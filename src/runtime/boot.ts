// From the environment to a running service, and from a signal to its end: the same on Node, Bun and Deno.
import process from "node:process";
import { describeDatabase, readConfig } from "../config.ts";
import type { Config } from "../config.ts";
import { Refusal } from "../errors.ts";
import { createLog, describeError } from "../log.ts";
import { createService } from "../service.ts";
import type { Service } from "../service.ts";
import { openDatabase } from "../store/database.ts";
import type { Database } from "../store/database.ts";
import { migrate } from "../store/migrate.ts";
import { listWorkspaces } from "../store/workspaces.ts";
import { readMigrations } from "./migrations.ts";

/** A listening server. `stop` takes no new connections and resolves when every request in flight is answered. */
export type Server = { port: number; stop(): Promise<void> };

/** How a runtime listens: the one thing in which they differ. */
export type Listen = (fetch: Service["fetch"], address: { host: string; port: number }) => Promise<Server>;

/** Starts the service as the environment says and gives its base URL; a start that fails says why and exits 1. */
export async function boot(listen: Listen): Promise<string> {
  try {
    return await start(listen, readConfig(process.env));
  } catch (error) {
    process.stderr.write(`promptledger: ${error instanceof Error ? error.message : error}\n`);
    process.exit(1);
  }
}

async function start(listen: Listen, config: Config): Promise<string> {
  const clock = Date.now;
  const write = (line: string) => process.stderr.write(`${line}\n`);
  const log = createLog({ level: config.logLevel, format: config.logFormat, clock, write });

  const { database } = await openMigrated(config);
  const service = createService({ database, clock, log, maxBodyBytes: config.maxBodyBytes });
  const server = await listenOn(config, () => listen(service.fetch, config));
  stopOnSignal(async () => {
    log.info("Stopping");
    await server.stop();
    service.close();
  });

  const name = config.host.includes(":") ? `[${config.host}]` : config.host;
  const url = `http://${name}:${server.port}`;
  log.info("Listening", { url, database: describeDatabase(config.database.url) });
  if ((await listWorkspaces(database)).length === 0) write(setupHint);
  return url;
}

async function listenOn({ host, port }: Config, listen: () => Promise<Server>): Promise<Server> {
  try {
    return await listen();
  } catch (error) {
    throw new Error(`cannot listen on ${host}:${port}: ${describeError(error)}`, { cause: error });
  }
}

/** Opens the configured database and brings its schema up to date; gives the names of the migrations applied. */
export async function openMigrated({ database: location }: Config): Promise<{ database: Database; applied: string[] }> {
  try {
    const database = openDatabase(location);
    return { database, applied: await migrate(database, await readMigrations(), Date.now()) };
  } catch (error) {
    const cause = error instanceof Refusal ? error.message : describeError(error);
    throw new Error(`The database ${describeDatabase(location.url)} cannot be used: ${cause}`, { cause: error });
  }
}

function stopOnSignal(stop: () => Promise<void>): void {
  let stopping: Promise<void> | undefined;
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => {
      stopping ??= stop().then(() => process.exit(0), () => process.exit(1));
    });
  }
}

const setupHint = `
The database is empty. Three commands set it up; each prints the id or key that is needed next:

  npm run -s cli -- workspace create --name "My team"
  npm run -s cli -- key create --workspace WORKSPACE_ID
  npm run -s cli -- prompt push prompt.json --workspace WORKSPACE_ID --deploy production

prompt.json holds {"title": "…", "description": "…", "messages": [{"role": "system", "content": "…"}], "llmConfig": {}}.
To see it all working first: npm run demo
`;
