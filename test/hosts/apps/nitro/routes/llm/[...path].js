import process from "node:process";
import { createService } from "promptledger";

const service = createService({ database: process.env.DATABASE_URL, basePath: "/llm" });
export default (event) => service.fetch(event.req);
