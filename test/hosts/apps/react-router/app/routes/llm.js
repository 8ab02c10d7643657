import process from "node:process";
import { createService } from "promptledger";

const service = createService({ database: process.env.DATABASE_URL, basePath: "/llm" });
export const loader = ({ request }) => service.fetch(request);
export const action = loader;
