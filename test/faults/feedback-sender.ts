// Sends records and feedback on them as planned, each request until it is answered. It takes some answers as lost. Arguments:
// its number, how many records, and the journal of the steps that were answered, from which it goes on.
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import process from "node:process";
import { planOf } from "./feedback-plan.ts";
import type { Step } from "./feedback-plan.ts";

const [sender, chains] = process.argv.slice(2, 4).map(Number) as [number, number];
const journal = process.argv[4]!;
const { BASE, API_KEY, DEPLOYMENT } = process.env as Record<string, string>;
const done = new Set(existsSync(journal) ? readFileSync(journal, "utf8").split("\n") : []);

const atOnce = 6; // records
const lost = 0.1; // of the answers
const timeout = 60_000; // ms for one request
const patience = 180_000; // ms for one step
// It imports nothing of the service, with which it would start in ten times the time.
const goodBody = { status: 1, content: { input: "Hello", output: "Hi" } };
const ids = new Map<string, string>();
let requests = 0;

async function request(method: string, path: string, body: unknown, headers: object): Promise<Response> {
  requests++;
  const answer = await fetch(`${BASE}${path}`, {
    method,
    headers: { Authorization: `Bearer ${API_KEY}`, "Content-Type": "application/json", ...headers },
    ...body !== undefined && { body: JSON.stringify(body) },
    signal: AbortSignal.timeout(timeout),
  });
  // A request that is given up earlier may be carried out after the steps that follow it.
  if (Math.random() < lost) {
    await answer.text();
    throw new Error("The answer is lost");
  }
  return answer;
}

// Now and then Node's fetch does not settle when the service is killed. Then only the signal ends it, whose timer does not keep
// the process alive.
const held = setInterval(() => {}, 60_000);

/** Sends what a step says, once. Returns the statuses that it got. */
async function send(key: string, step: Step): Promise<number[]> {
  const known = ids.get(key);
  const reference = () => known !== undefined && Math.random() < 0.5 ? known : key;
  if ("one" in step) {
    const { name, author, value } = step.one;
    const path = `/v1/diagnosis/${reference()}/feedback/${name}`;
    const answer = value === null
      ? await request("DELETE", `${path}?author=${author}`, undefined, {})
      : await request("PUT", path, { value, author }, {});
    await answer.text();
    return [answer.status];
  }
  if ("many" in step) {
    const feedback = step.many.map((given) => ({ record: reference(), ...given }));
    const answer = await request("POST", "/v1/feedback", { feedback }, {});
    const text = await answer.text();
    return answer.ok ? JSON.parse(text).results.map(({ status }: { status: number }) => status) : [answer.status];
  }
  const record = { ...goodBody, sessionId: key };
  const answer = step.record === "alone"
    ? await request("POST", `/v1/diagnosis?deployId=${DEPLOYMENT}`, record, { "Idempotency-Key": key })
    : await request(
      "POST",
      "/v1/diagnoses",
      { records: [{ ...record, deployId: DEPLOYMENT, idempotencyKey: key }] },
      {},
    );
  const text = await answer.text();
  if (!answer.ok) return [answer.status];
  const result = step.record === "alone" ? { ...JSON.parse(text), status: answer.status } : JSON.parse(text).results[0];
  if (result.id !== undefined) ids.set(key, result.id);
  return [result.status];
}

async function sendUntilAnswered(key: string, step: Step): Promise<void> {
  const deadline = performance.now() + patience;
  while (performance.now() < deadline) {
    const statuses = await send(key, step).catch(() => [0]);
    if (statuses.every((status) => status === 200 || status === 201)) return;
    const strange = statuses.find((status) => ![0, 200, 201, 500, 503].includes(status));
    if (strange !== undefined) throw new Error(`${JSON.stringify(step)} of ${key} got ${statuses.join()}`);
    await new Promise((resolve) => setTimeout(resolve, 50 + Math.random() * 100));
  }
  throw new Error(`${JSON.stringify(step)} of ${key} got no answer`);
}

let next = 0;
console.log("sending;");
await Promise.all(Array.from({ length: atOnce }, async () => {
  for (let nth = next++; nth < chains; nth = next++) {
    const { key, steps } = planOf(sender, nth);
    for (const [index, step] of steps.entries()) {
      const entry = `${nth}:${index}`;
      if (done.has(entry)) continue;
      await sendUntilAnswered(key, step);
      appendFileSync(journal, `${entry}\n`);
    }
  }
}));
clearInterval(held);
console.log(`done ${requests};`);
