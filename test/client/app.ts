// A small application with a client, as a process of its own: asks for a prompt, records a call, and does not close the client.
// Where the service is comes from the environment. Prints the source and the version of the prompt.
import process from "node:process";
import { createClient } from "./patient.ts";

const [deployId, snapshot] = process.argv.slice(2);
const ledger = createClient({ snapshot });
ledger.on("error", () => {});
const prompt = await ledger.prompt(deployId!);
const call = prompt.call({ sessionId: "order-4711" });
call.done({ status: 1, input: prompt.fill({ name: "Ada" }), output: "Hello Ada" });
console.log(prompt.source, prompt.version);
