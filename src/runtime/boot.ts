// From the environment to a running service, and from a signal to its end: the same on Node, Bun and Deno.
import process from "node:process";
import { describeDatabase, readConfig } from "../config.ts";
import type { Config } from "../config.ts";
import { Refusal, unusable } from "../errors.ts";
import { createLog, describeError } from "../log.ts";
import type { Log } from "../log.ts";
import { serveDatabase } from "../service.ts";
import type { Service } from "../service.ts";
import { openDatabase } from "../store/open.ts";
import type { Database, Purpose } from "../store/database.ts";
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
    process.stderr.write(`promptledger: ${error instanceof Refusal ? error.message : describeError(error)}\n`);
    process.exit(1);
  }
}

async function start(listen: Listen, config: Config): Promise<string> {
  const clock = Date.now;
  const write = (line: string) => process.stderr.write(`${line}\n`);
  // Whoever reads the log may go; the service stays.
  process.stderr.on("error", () => {});
  const log = createLog({ level: config.logLevel, format: config.logFormat, clock, write });

  const { database } = await openMigrated(config, "serve");
  const service = serveDatabase(database, {
    clock,
    log,
    maxBodyBytes: config.maxBodyBytes,
    adminToken: config.adminToken,
  });
  const server = await listenOn(config, () => listen(service.fetch, config));
  stopOnSignal(server, service, log);

  const name = config.host.includes(":") ? `[${config.host}]` : config.host;
  const url = `http://${name}:${server.port}`;
  log.info("Listening", { url, database: describeDatabase(config.database.url) });
  if ((await listWorkspaces(database, { limit: 1 })).items.length === 0) write(setupHint);
  return url;
}

async function listenOn({ host, port }: Config, listen: () => Promise<Server>): Promise<Server> {
  try {
    return await listen();
  } catch (error) {
    throw unusable(`cannot listen on ${host}:${port} (HOST, PORT): ${describeError(error)}`);
  }
}

/** Opens the configured database and brings its schema up to date; gives the names of the migrations applied. */
export async function openMigrated(
  { database: location }: Config,
  purpose: Purpose,
): Promise<{ database: Database; applied: string[] }> {
  let database: Database | undefined;
  try {
    database = openDatabase(location, purpose);
    return { database, applied: await migrate(database, await readMigrations(), Date.now()) };
  } catch (error) {
    database?.close();
    const cause = error instanceof Refusal ? error.message : describeError(error);
    throw unusable(`the database ${describeDatabase(location.url)} (DATABASE_URL) cannot be used: ${cause}`);
  }
}

/** On SIGTERM or SIGINT answers what is in flight, closes the database and exits 0; a second signal ends at once. */
function stopOnSignal(server: Server, service: Service, log: Log): void {
  let isStopping = false;

  async function stop(): Promise<void> {
    log.info("Stopping");
    const isDone = await Promise.race([
      server.stop().then(() => true),
      new Promise<boolean>((resolve) => setTimeout(resolve, stopPatience, false)),
    ]);
    if (!isDone) log.warn("Stopped before every connection had ended");
    service.close();
  }

  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => {
      if (isStopping) process.exit(1);
      isStopping = true;
      stop().then(() => process.exit(0), (error) => {
        log.error("Stopping failed", { error: describeError(error) });
        process.exit(1);
      });
    });
  }
}

const stopPatience = 8_000; // ms that requests in flight get once the service stops

// npm sets this for what a checkout's scripts start; an installed package has its own command.
const command = process.env.npm_lifecycle_event === undefined ? "promptledger" : "npm run -s cli --";

const setupHint = `
The database is empty. Three commands set it up; each prints the id or key that is needed next:

  ${command} workspace create --name "My team"
  ${command} key create --workspace WORKSPACE_ID
  ${command} prompt push prompt.json --workspace WORKSPACE_ID --deploy production

prompt.json holds {"title": "…", "description": "…", "messages": [{"role": "system", "content": "…"}], "llmConfig": {}}.
`;
