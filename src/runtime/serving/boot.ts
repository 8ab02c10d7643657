// From the environment to a running service: the same on Node, Bun and Deno.
import { createServer } from "node:net";
import process from "node:process";
import { build } from "../../common/build.ts";
import { describeDatabase } from "../../database/location.ts";
import { readConfig } from "../settings/config.ts";
import type { Config } from "../settings/config.ts";
import type { Clock } from "../../common/domain.ts";
import { Refusal, unusable } from "../../common/errors.ts";
import { createLog, describeError } from "../../common/log.ts";
import type { Log } from "../../common/log.ts";
import { readProxyUrl } from "../../support/proxy-url.ts";
import { consolePath, mcpPath } from "../../http/face.ts";
import { serveDatabase } from "../../service/service.ts";
import { claimFile, whileServed } from "../../database/file/file-claim.ts";
import { makeFile } from "../../database/file/open-migrated.ts";
import { fileOf } from "../../database/file/source.ts";
import { noticeBackup } from "../../management/upkeep/backup-notices.ts";
import { hasWorkspaces } from "../../management/kernel/workspaces.ts";
import { yielding } from "../../database/yielding.ts";
import { findBackupKey } from "../backups/backup-key.ts";
import { ownedPlace, ownerOf } from "../backups/backup-owner.ts";
import { countedWith } from "../backups/backup-names.ts";
import { startBackups } from "../backups/backup-schedule.ts";
import { loadCommit } from "../commit.ts";
import { measureDatabase } from "./database-metrics.ts";
import { warnOfWeakDurability } from "./durability.ts";
import { startDeliverer } from "./deliverer.ts";
import { openLogOutput } from "../log-output.ts";
import { openConfigured } from "./open-configured.ts";
import { openPlace } from "../backups/open-place.ts";
import { addressFault, send } from "./outbound.ts";
import { outgoingFetch } from "../proxy.ts";
import { measureProcess } from "./process-metrics.ts";
import { servedFaces } from "./served-faces.ts";
import type { Listen, Server } from "../server.ts";
import { stopOnSignal } from "./stop.ts";
import { startUpkeep } from "./upkeep.ts";
import { warnOfUsedQuotas } from "./used-quotas.ts";

const webhookTimeout = 15_000; // ms that a webhook has to answer

/**
 * A running service: its base URL, and a function that creates a link to its console. The link signs in with a token
 * until the service stops.
 */
export type Started = { url: string; createLink(token: string): string };

/** Starts the service with the settings in the environment, or prints the failure and exits 1. */
export async function boot(listen: Listen): Promise<Started> {
  try {
    return await start(listen, readConfig(process.env));
  } catch (error) {
    const cause = error instanceof Refusal ? error.message : describeError(error);
    return await new Promise(() => void process.stderr.write(`promptledger: ${cause}\n`, () => process.exit(1)));
  }
}

async function start(listen: Listen, config: Config): Promise<Started> {
  const { host, port, metricsHost, metricsPort, adminToken, corsOrigins, shutdownDelay, shutdownTimeout } = config;
  const { maxBodyBytes, bodyBudgetBytes } = config;
  const clock = Date.now;
  const output = openLogOutput((count) => log.warn("Dropped log lines: the stderr reader is too slow", { count }));
  const log = createLog({ level: config.logLevel, format: config.logFormat, clock, write: output.write });

  await loadCommit();
  // An invalid key must be found now, not when a backup is to be opened.
  const backupKey = await findBackupKey(config.backupKeyFile);
  await claimDatabase(config, log);
  const schema = config.migrates ? "migrate" : "check";
  const { database } = await openConfigured(config.database, "serve", { schema, notify: log.info });
  if (config.databaseAdminUrl !== undefined) await warnOfWeakDurability(config.databaseAdminUrl, log);
  const isEmpty = !await hasWorkspaces(database);
  const metricsToken = metricsPort === undefined ? adminToken : undefined;
  // Most services are not for agents, and load no code for them.
  const forAgents = config.mcp ? [(await import("../../mcp/face.ts")).mcp()] : [];
  const { pages, faces } = servedFaces(config, forAgents, {
    faultOf: addressFault,
    log,
    fetch: outgoingFetch,
    onWebhook: () => deliverer.wake(),
    readBackups: fileOf(config.database) === undefined ? undefined : () => backups?.state() ?? "off",
  });
  const settings = { maxBodyBytes, bodyBudgetBytes, corsOrigins, metricsToken, faces };
  const service = serveDatabase(database, { clock, log: warnOfUsedQuotas(log, clock), ...settings });
  const { webhookAllow: allowed, webhookProxy } = config;
  const proxy = webhookProxy === undefined ? undefined : readProxyUrl("WEBHOOK_PROXY", webhookProxy);
  const sending = { allowed, proxy, timeout: webhookTimeout };
  const deliverer = startDeliverer({
    ...{ database, clock, log, metrics: service.metrics },
    // A file is claimed by the one process that serves it.
    isAlone: fileOf(config.database) !== undefined,
    send: (request) => send(request, sending),
  });
  measureProcess(service.metrics);
  measureDatabase(service.metrics, yielding(database), clock);
  const what = Object.entries({ ...build, runtime: runtimeName() })
    .filter((entry): entry is [name: string, value: string] => entry[1] !== undefined);
  const [names, values] = [what.map(([name]) => name), what.map(([, value]) => value)];
  service.metrics.series("promptledger_build_info", "What runs", names, () => [[values, 1]]);
  const warn = createWarning(log, clock);
  const server = await listenOn("HOST, PORT", { host, port }, (address) => listen(service.handle, address, warn));
  const probes = metricsPort === undefined ? undefined : await listenOn(
    "METRICS_HOST, METRICS_PORT",
    { host: metricsHost, port: metricsPort },
    (address) => listen(service.probe, address, warn),
  );
  const servers = probes === undefined ? [server] : [server, probes];
  const upkeep = startUpkeep({ database, clock, log, metrics: service.metrics, onCheck: deliverer.wake });
  const place = config.backups &&
    ownedPlace(await openPlace(config.backups.to), () => ownerOf(yielding(database)));
  const backups = config.backups && place && startBackups({
    ...{ clock, log, metrics: service.metrics, place, settings: config.backups },
    counts: countedWith(backupKey !== undefined),
    notice: (cause) => noticeBackup({ database: yielding(database), clock }, place.name, cause),
  });
  stopOnSignal({ servers, service, upkeep, deliverer, backups, output, log, shutdownDelay, shutdownTimeout });

  const urlOf = (host: string, { port }: Server) => `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
  const url = urlOf(host, server);
  const metrics = probes === undefined ? undefined : `${urlOf(metricsHost, probes)}/metrics`;
  const isManaged = adminToken !== undefined || config.management;
  log.info("Listening", {
    url,
    console: isManaged ? url + consolePath : undefined,
    mcp: config.mcp ? url + mcpPath : undefined,
    metrics,
    database: describeDatabase(config.database.url),
    ...build,
    runtime: runtimeName(),
    management: isManaged ? "on" : "off",
    maxBodyBytes,
    bodyBudgetBytes,
    shutdownTimeoutMs: shutdownTimeout,
    backups: backups?.state().place,
  });
  if (isEmpty) config.logFormat === "text" ? output.write(setupHint) : log.info("The database is empty");
  return { url, createLink: (token) => url + pages.createLink(token, { isReusable: true }) };
}

function runtimeName(): string {
  const { bun, deno, node } = process.versions;
  return bun !== undefined ? `Bun ${bun}` : deno !== undefined ? `Deno ${deno}` : `Node ${node}`;
}

type Address = { host: string; port: number };

const warningInterval = 1_000; // ms between two warnings of a server, which come in bursts

function createWarning(log: Log, clock: Clock): (message: string, error?: unknown) => void {
  let last = -Infinity;
  return (message, error) => {
    if (Math.abs(clock() - last) < warningInterval) return;
    last = clock();
    log.warn(message, { cause: error === undefined ? undefined : describeError(error) });
  };
}

async function listenOn<T>(names: string, address: Address, listen: (address: Address) => Promise<T>): Promise<T> {
  try {
    return await listen(address);
  } catch (error) {
    const [, name] = names.split(", ");
    const cause = isInUse(error)
      ? `the port is in use. Set ${name}, or ${name}=0 for a free one`
      : describeError(error);
    throw unusable(`cannot listen on ${address.host}:${address.port} (${names}): ${cause}`);
  }
}

/** True if another process listens on the port. Deno has no code for it. */
const isInUse = (error: unknown): boolean =>
  error instanceof Error && (error.name === "AddrInUse" || "code" in error && error.code === "EADDRINUSE");

/** Throws if the service could not listen, before the work that precedes it. */
export async function checkPort({ host, port }: Pick<Config, "host" | "port">): Promise<void> {
  const server = createServer();
  await listenOn("HOST, PORT", { host, port }, () =>
    new Promise<void>((resolve, reject) => {
      server.once("error", reject).listen(port, host, resolve);
    }));
  await new Promise((resolve) => server.close(resolve));
}

const claimGrace = 5_000; // ms beyond `shutdownTimeout` for another process to exit

/**
 * Claims the database file, because only one process may serve it. Waits for a process that is stopping, and throws if
 * it keeps serving.
 */
async function claimDatabase(config: Config, log: Log): Promise<void> {
  const { database: location, migrates, shutdownTimeout } = config;
  const path = fileOf(location);
  if (path === undefined) return;
  if (migrates) makeFile(path);
  const timeoutMs = shutdownTimeout + claimGrace;
  await whileServed(() => claimFile(path), timeoutMs, async (notice) => {
    // Reported now: waiting for the database is in vain if another process has the port.
    const port = await checkPort(config).then(() => undefined, (error: Error) => error.message);
    log.warn(notice, { database: describeDatabase(location.url), timeoutMs, port });
  });
}

/** The user's command line: npm sets variables for the scripts of a package, and for npx. */
export const command = process.env.npm_lifecycle_event === undefined
  ? "promptledger"
  : process.env.npm_package_name === "promptledger"
  ? "npm run -s cli --"
  : "npx promptledger";

const setupHint = `
The database is empty. Three commands set it up. The second prints the key of your app:

  ${command} workspace create --name "My team"
  ${command} key create
  ${command} prompt push prompt.json --deploy production

prompt.json holds {"title": "…", "description": "…", "messages": [{"role": "system", "content": "…"}], "llmConfig": {}}.
`;
