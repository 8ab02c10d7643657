// A Worker whose pages begin before they are ready.
import { env } from "cloudflare:workers";
import { consolePagesWith } from "../../src/console/face.ts";
import { management } from "../../src/management.ts";
import { createService } from "../../src/runtime/workers.ts";

const { DATABASE_URL: database, ADMIN_TOKEN: adminToken } = env as { DATABASE_URL: string; ADMIN_TOKEN: string };
const faces = [management({ adminToken }), consolePagesWith({ pace: { quietMs: 1, stepMs: 1 } })];
const service = createService({ database, faces });

export default { fetch: service.fetch };
