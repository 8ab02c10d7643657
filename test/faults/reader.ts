// A well-behaved client in its own process. It reads a prompt again and again until it is stopped, and prints how often, and
// how long the slowest read took.
import process from "node:process";
import { openConnection, serialize } from "../conformance/http-client.ts";

const { TARGET, KEY } = process.env;
const { origin, pathname, search } = new URL(TARGET!);
const bytes = serialize(origin, pathname + search, { headers: [`Authorization: Bearer ${KEY}`] }, "keep-alive");

let requests = 0, slowest = 0, isOver = false;
process.on("SIGTERM", () => isOver = true);

const connection = openConnection(origin);
for (let count = 0; count < 50; count++) await read();
requests = slowest = 0;
console.log("reading");
while (!isOver) {
  await read();
  await new Promise((resolve) => setTimeout(resolve, 5));
}
connection.close();
console.log(JSON.stringify({ requests, slowest }));

async function read(): Promise<void> {
  const start = performance.now();
  connection.write(bytes);
  await connection.readAnswer();
  slowest = Math.max(slowest, performance.now() - start);
  requests++;
}
