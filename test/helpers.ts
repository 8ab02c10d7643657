// A small world for tests: a real database in memory, a fixed clock, one of everything, and the service on it.
import type { Session } from "../src/management/kernel/operation.ts";
import { readPromptFile } from "../src/management/prompts/prompt-file.ts";
import "./digests.ts";
import { createApiKey, createDeployment, createPrompt, createWorkspace, managementOf, noon } from "./actions.ts";
import type { LogFormat, LogLevel } from "../src/common/log.ts";
import type { DeploymentId, KeyId, PromptId, WorkspaceId } from "../src/common/ids.ts";
import type { Database, Statement } from "../src/database/database.ts";
import { openDatabase } from "../src/database/file/open.ts";
import { migrate } from "../src/database/migrate.ts";
import { serveApp } from "../src/service/app.ts";
import type { Handler } from "../src/http/edge.ts";
import { consolePagesWith } from "../src/console/face.ts";
import type { ReadBackups } from "../src/console/face.ts";
import { feedback } from "../src/feedback/face/feedback.ts";
import { managementWith } from "../src/faces/management.ts";
import { openapi } from "../src/faces/openapi.ts";
import { mcp } from "../src/mcp/face.ts";
import type { BodyLimit, Context } from "../src/http/context.ts";
import { managementOverloaded } from "../src/common/errors.ts";
import { createLog } from "../src/common/log.ts";
import { createSlots } from "../src/support/slots.ts";
import { migrations } from "../src/database/migrations.ts";
import { createContext, createShared, serveDatabase } from "../src/service/service.ts";
import type { ServiceSettings } from "../src/service/service.ts";
import type { GroupLimits } from "../src/ledger/waiting-room.ts";
import { holdAnswer } from "./outputs.ts";
import { openSnapshot, takeSnapshot } from "./snapshots.ts";
import type { Snapshot } from "./snapshots.ts";

export { managementOf, noon };

/** The token that management asks for in a world. */
export const adminToken = "admin-token-of-at-least-32-characters";

const patience = 3_600_000; // ms: nothing gives up because the machine is slow

/** The console, whose pages are answered whole. */
export const wholePages = (options: { signInLimit?: BodyLimit; mayBeOff?: boolean; readBackups?: ReadBackups } = {}) =>
  consolePagesWith({ pace: { quietMs: patience, stepMs: patience }, ...options });

const patientManagement = managementWith({ adminToken }, () => createSlots(16, patience, managementOverloaded), {
  quietMs: patience,
  changeTimeout: patience,
});

/** All faces; management is for `adminToken`. */
export const withManagement = [patientManagement, openapi(), wholePages(), feedback({ ratePerMinute: 1_500 }), mcp()];

export const promptFile = {
  title: "Greeting",
  description: "Says hello",
  messages: [{ role: "system", content: "Greet {{name}}" }],
  llmConfig: { provider: "openai", model: "gpt-4o", temperature: 0.5 },
};

export const goodBody = { sessionId: "session-1", status: 1, content: { input: "Hello", output: "Hi" } };

/** An answer whose body has been read: `json` is undefined where the body is not JSON. */
export type Answer = { status: number; headers: Headers; text: string; json: unknown };

export type Tenant = {
  workspaceId: WorkspaceId;
  key: string;
  keyId: KeyId;
  promptId: PromptId;
  deployId: DeploymentId;
};

export type World = Tenant & {
  /** What the clock says; assign to move it. */
  now: number;
  admin: Session;
  database: Database;
  logged: string[];
  fetch(request: Request): Promise<Response>;
  drain(): Promise<void>;
  /** Sends a request to a path, with the world's key unless other headers are given, which are an object. */
  send(path: string, init?: RequestInit): Promise<Answer>;
  read(deployId?: string, key?: string): Promise<Answer>;
  /** Submits a body: text as it is, anything else as JSON. */
  submit(body?: unknown, deployId?: string, key?: string, headers?: Record<string, string>): Promise<Answer>;
  /** Sends a request to a path of the management API, with its token unless other headers are given. */
  manage(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  close(options?: { timeout: number }): Promise<void>;
};

/** A service on a database, as a context whose parts may be replaced, and its fetch handler. */
export function serveContext(
  database: Database,
  settings: ServiceSettings,
  groupLimits: Partial<GroupLimits> = {},
  replaced: Partial<Context> = {},
): { context: Context; fetch: Handler } {
  const shared = createShared(settings);
  const context = { ...createContext(database, settings, groupLimits, shared), ...replaced };
  return { context, fetch: serveApp(shared.app, context) };
}

/** A log at the tests' time, and its lines. */
export function captureLog(level: LogLevel, format: LogFormat = "json", clock = () => noon) {
  const logged: string[] = [];
  return { log: createLog({ level, format, clock, write: (line) => void logged.push(line) }), logged };
}

export const bearer = (key: string) => ({ Authorization: `Bearer ${key}` });

/** Makes a migrated database in memory: a copy, as migrating one takes more than ten times as long. */
export const openMemory = async (): Promise<Database> => openSnapshot(await (migrated ??= takeMigrated()));

let migrated: Promise<Snapshot> | undefined;

async function takeMigrated(): Promise<Snapshot> {
  const database = openDatabase(":memory:");
  await migrate(database, migrations, noon);
  return await takeSnapshot(database);
}

/** The same database, and how many operations it is asked for. */
export function counting(database: Database) {
  const counts = { reads: 0, writes: 0 };
  return {
    counts,
    database: {
      ...database,
      read: (statement: Statement) => {
        counts.reads++;
        return database.read(statement);
      },
      write: (statements: Statement[]) => {
        counts.writes++;
        return database.write(statements);
      },
    },
  };
}

/** The content of a prompt file, as it is read from there. */
export const toPrompt = (file: unknown) => readPromptFile(JSON.stringify(file));

type Made = { tenant: Tenant; snapshot: Snapshot };
const made = new Map<number, Promise<Made>>(); // by the limit

/** A tenant, and a database with it alone. */
async function makeTenant(monthlyLimit: number): Promise<Made> {
  const database = await openMemory();
  const tenant = await createTenant(managementOf(database, () => noon), monthlyLimit);
  return { tenant, snapshot: await takeSnapshot(database) };
}

/** A database with a tenant. One in memory is a copy, as making the tenant takes four times as long as that. */
async function openTenant(
  monthlyLimit: number,
  { database, tenant }: { database?: Database; tenant?: Tenant },
): Promise<{ tenant: Tenant; database: Database }> {
  if (database !== undefined) {
    return { database, tenant: tenant ?? await createTenant(managementOf(database, () => noon), monthlyLimit) };
  }
  if (!made.has(monthlyLimit)) made.set(monthlyLimit, makeTenant(monthlyLimit));
  const copied = await made.get(monthlyLimit)!;
  return { tenant: copied.tenant, database: await openSnapshot(copied.snapshot) };
}

/** Makes a workspace with a key, a prompt and an active deployment. */
export async function createTenant(admin: Session, monthlyLimit = 1000, name = "Acme"): Promise<Tenant> {
  const { id: workspaceId } = await createWorkspace(admin, { name, monthlyLimit, upgradeUrl: null });
  const { key, id: keyId } = await createApiKey(admin, workspaceId, { name: "test", expiresAt: null });
  const { id: promptId } = await createPrompt(admin, workspaceId, toPrompt(promptFile));
  const { id: deployId } = await createDeployment(admin, workspaceId, { name: "production", promptId });
  return { workspaceId, key, keyId, promptId, deployId };
}

export async function createWorld(
  options: {
    monthlyLimit?: number;
    maxBodyBytes?: number;
    bodyBudgetBytes?: number;
    bodyTimeout?: number;
    database?: Database;
    /** The tenant that the database has. Otherwise it gets one. */
    tenant?: Tenant;
    logLevel?: LogLevel;
    corsOrigins?: string[];
    servesMetrics?: boolean;
  } = {},
): Promise<World> {
  const { monthlyLimit = 1000 } = options;
  const { database, tenant } = await openTenant(monthlyLimit, options);
  const clock = () => world.now;
  const admin = managementOf(database, clock);
  const { maxBodyBytes = 4096, bodyTimeout = 30_000, logLevel = "warn" } = options;
  const { log, logged } = captureLog(logLevel, "json", clock);
  const metrics = options.servesMetrics ? { metricsToken: adminToken } : {};
  const settings = { ...options, ...metrics, clock, log, maxBodyBytes, bodyTimeout, faces: withManagement };
  const service = serveDatabase(database, settings);
  const world = { now: noon, admin, database, logged } as World;
  return Object.assign(world, tenant, {
    fetch: service.fetch,
    drain: service.drain,
    close: service.close,
    send: async (path: string, init: RequestInit = {}) => {
      // With an id of its own the request is answered the same each time.
      const headers = { "X-Request-Id": "test", ...init.headers ?? bearer(tenant.key) };
      const request = new Request(`http://ledger.test${path}`, { ...init, headers } as RequestInit);
      return readAnswer(await service.fetch(request));
    },
    read: (deployId = tenant.deployId, key = tenant.key) =>
      world.send(`/v1/prompts?deployId=${deployId}`, { headers: bearer(key) }),
    submit: (body: unknown = goodBody, deployId = tenant.deployId, key = tenant.key, headers = {}) =>
      world.send(`/v1/diagnosis?deployId=${deployId}`, {
        method: "POST",
        headers: { ...bearer(key), "Content-Type": "application/json", ...headers },
        body: typeof body === "string" ? body : JSON.stringify(body),
      }),
    manage: async (method: string, path: string, body?: unknown, headers = {}) => {
      const answer = await world.send(`/admin/v1${path}`, {
        method,
        headers: { ...bearer(adminToken), ...headers },
        ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      });
      holdAnswer(method, path, answer);
      return answer;
    },
  });
}

/** Reads an answer to its end. */
export async function readAnswer(response: Response): Promise<Answer> {
  const text = await response.text();
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    json = undefined;
  }
  return { status: response.status, headers: response.headers, text, json };
}
