import process from "node:process";
import { createService } from "promptledger";

// A development server evaluates this file again after each change. The service stays the same.
export const service = globalThis.ledger ??= createService({ database: process.env.DATABASE_URL, basePath: "/llm" });
