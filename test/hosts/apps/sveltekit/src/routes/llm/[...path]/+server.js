import { env } from "$env/dynamic/private";
import { createService } from "promptledger";

const service = createService({ database: env.DATABASE_URL ?? "file:ledger.db", basePath: "/llm" });
export const fallback = ({ request }) => service.fetch(request);
