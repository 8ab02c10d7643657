// A well-behaved client in its own process. It reads a prompt again and again until it is stopped, and prints how often, for how
// many seconds, and how long the slowest read took in ms. CONNECTIONS read at once, each with a pause of PAUSE ms between.
import process from "node:process";
import { openConnection, serialize } from "../conformance/http-client.ts";
import type { Connection } from "../conformance/http-client.ts";

const { TARGET, KEY, CONNECTIONS = "1", PAUSE = "5" } = process.env;
const { origin, pathname, search } = new URL(TARGET!);
const bytes = serialize(origin, pathname + search, { headers: [`Authorization: Bearer ${KEY}`] }, "keep-alive");
const pause = Number(PAUSE);

let requests = 0, slowest = 0, isOver = false;
process.on("SIGTERM", () => isOver = true);

const connections = Array.from({ length: Number(CONNECTIONS) }, () => openConnection(origin));
await Promise.all(connections.map(async (connection) => {
  for (let count = 0; count < 50; count++) await read(connection);
}));
requests = slowest = 0;
const began = performance.now();
console.log("reading");
await Promise.all(connections.map(async (connection) => {
  while (!isOver) {
    await read(connection);
    if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause));
  }
  connection.close();
}));
console.log(JSON.stringify({ requests, slowest, seconds: (performance.now() - began) / 1000 }));

async function read(connection: Connection): Promise<void> {
  const start = performance.now();
  connection.write(bytes);
  await connection.readAnswer();
  slowest = Math.max(slowest, performance.now() - start);
  requests++;
}
