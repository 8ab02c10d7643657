import process from "node:process";
import { createService } from "promptledger";

// The build evaluates this file too, without the environment, and a development server after each change. Nothing is opened
// before the first request.
export const service = globalThis.ledger ??= createService({
  database: process.env.DATABASE_URL ?? "file:ledger.db",
  basePath: "/llm",
});
