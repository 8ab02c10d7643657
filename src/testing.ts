// The entry `promptledger/testing`: a service in memory, for the tests of applications that embed or call one.
import { openMigrated } from "./database/file/open-migrated.ts";
import type { Extensions, Face } from "./http/face.ts";
import { management } from "./faces/management.ts";
import type { ManagementMembers } from "./faces/management.ts";
import { serviceOver } from "./service/service.ts";
import type { Service, ServiceSettings } from "./service/service.ts";
import { checkOptions, serviceChecks } from "./http/settings.ts";
import type { Admin } from "./management/admin.ts";

type Prompt = Omit<Parameters<Admin["createPrompt"]>[0], "workspaceId">;

/** Options of a test's tenant. Each has a default. */
export type TenantOptions = {
  /** The monthly limit of accepted requests. Default: 1000. */
  limit?: number | undefined;
  /** The prompt of its deployment `production`. Default: a greeting with the variable `name`. */
  prompt?: Partial<Prompt> | undefined;
};

/**
 * A workspace with a key, a prompt and an active deployment. `reference` is `NAME@DEPLOYMENT`, for the same as
 * `deployId`.
 */
export type Tenant = {
  workspaceId: string;
  key: string;
  keyId: string;
  promptId: string;
  deployId: string;
  reference: string;
};

/** A service in memory, with the operations of management as functions of `admin`. */
export type TestService = Service & ManagementMembers & {
  /** Creates a tenant. */
  tenant(options?: TenantOptions): Promise<Tenant>;
};

const greeting: Prompt = {
  title: "Greeting",
  description: "Says hello",
  messages: [{ role: "system", content: "Greet {{name}}" }],
  llmConfig: { model: "test" },
};

const { database: _, client: __, ...checks } = serviceChecks;

/**
 * Creates a service on a database in memory, with all management operations as functions. Its data is lost when it
 * closes.
 *
 * @example
 * await using service = await createTestService();
 * const { key, deployId } = await service.tenant({ limit: 10 });
 * const client = createClient({ url: "http://ledger.test", apiKey: key, fetch: service.fetch });
 */
export async function createTestService<const Faces extends readonly Face[] = []>(
  settings: ServiceSettings<Faces> = {},
): Promise<TestService & Extensions<Faces>> {
  checkOptions("createTestService", settings, checks);
  const { database } = await openMigrated(":memory:", "manage");
  const given: readonly Face[] = settings.faces ?? [];
  const own = management();
  const faces = given.some(({ path }) => path === own.path) ? given : [...given, own];
  const service = serviceOver(() => database)({ ...settings, database: "file:memory", faces }) as
    & Service
    & ManagementMembers
    & Extensions<Faces>;
  return Object.assign(service, { tenant: (options?: TenantOptions) => createTenant(service.admin, options) });
}

async function createTenant(admin: Admin, { limit = 1000, prompt }: TenantOptions = {}): Promise<Tenant> {
  const { id: workspaceId } = await admin.createWorkspace({ name: "Test", monthlyLimit: limit });
  const { id: keyId, key } = await admin.createApiKey({ workspaceId });
  const { id: promptId, name } = await admin.createPrompt({ ...greeting, ...prompt, workspaceId });
  const { id: deployId } = await admin.createDeployment({ workspaceId, promptId, name: "production" });
  return { workspaceId, key, keyId, promptId, deployId, reference: `${name}@production` };
}
