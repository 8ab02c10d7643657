import process from "node:process";
import { createService } from "promptledger";
import { toNodeHandler } from "promptledger/node";

const service = createService({ database: process.env.DATABASE_URL ?? "file:ledger.db", basePath: "/api/node" });
export default toNodeHandler(service);
export const config = { api: { bodyParser: false, externalResolver: true } };
