// An application that records as fast as its client takes it, and never more than that may hold. Arguments: how many records,
// and after how many that are stored to say so. Ends with what came of them, as JSON.
import process from "node:process";
import { createClient } from "../../src/client/index.ts";

const [count, step] = process.argv.slice(2).map(Number) as [number, number];
const ledger = createClient({ maxQueued: 10_000 });
const largest = { queued: 0, queuedBytes: 0 };
let failures = 0;
ledger.on("error", () => void failures++);

for (let number = 0, said = 0; said < count;) {
  for (; number < count && ledger.stats().queued < 10_000; number++) {
    const content = { input: "Where is it? ".repeat(40), output: "Hi" };
    ledger.record({ deployId: "greeting@production", sessionId: `session-${number}`, status: 1, content });
  }
  const { sent, queued, queuedBytes } = ledger.stats();
  if (largest.queued === 0) console.log(`queued ${queued};`);
  largest.queued = Math.max(largest.queued, queued);
  largest.queuedBytes = Math.max(largest.queuedBytes, queuedBytes);
  for (; said < sent - sent % step; said += step) console.log(`stored ${said + step};`);
  await new Promise((resolve) => setTimeout(resolve, 2));
}
console.log(JSON.stringify({ ...await ledger.close(), ...largest, failures }));
