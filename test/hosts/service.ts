// What the hosts mount in place of `createService` of promptledger: the service on the test's database, with small limits
// and other middleware ahead of it. The test has it closed by a signal.
import process from "node:process";
import * as promptledger from "../../src/index.ts";
import type { Service, ServiceSettings } from "../../src/index.ts";
import { management } from "../../src/management.ts";
import { limitsOf } from "./limits.ts";
import { withMiddleware } from "./middleware.ts";

/** Makes the service of a host. */
export function createService({ basePath }: Pick<ServiceSettings, "basePath"> = {}): Service {
  const { DATABASE_URL: database, ADMIN_TOKEN: adminToken, IS_HASTY } = process.env;
  const service = promptledger.createService({
    database: database!,
    basePath,
    metricsToken: adminToken!,
    faces: [management({ adminToken })],
    ...limitsOf(IS_HASTY === "true"),
  });
  process.on("SIGUSR2", () => void close(service));
  return { ...service, fetch: withMiddleware(service.fetch) };
}

async function close(service: Service): Promise<void> {
  console.log("Closing");
  await service.close({ timeout: 600_000 });
  console.log("Closed");
}

type Listening = number | { address(): { port: number } | string | null };

/** Tells the test where the service is. */
export function announce(listening: Listening, path = ""): void {
  const address = typeof listening === "number" ? { port: listening } : listening.address();
  if (typeof address === "object" && address !== null) {
    console.log(`Mounted on http://127.0.0.1:${address.port}${path}`);
  }
}
