// The bounds of numbers are those that OpenAPI describes, for every number in a body or a query: what is within is accepted, and what is
// beyond, or only within once it is rounded, is refused by its name.
// Runs on Node alone.
import * as assert from "uvu/assert";
import { adminToken, bearer, createWorld, readAnswer } from "../helpers.ts";
import { suite } from "../suite.ts";
import { cases, openWorld } from "./openapi-cases.ts";
import { readContract } from "./openapi-contract.ts";
import type { OpenApi, Sent } from "./openapi-contract.ts";

const test = suite("bounds of numbers");

const document = (await (await createWorld()).send("/openapi.json")).json as OpenApi;
const contract = readContract(document, "http://ledger.test/openapi.json");

type Schema = Record<string, unknown>;

const resolve = (schema: Schema): Schema =>
  typeof schema.$ref === "string" ? document.components.schemas![schema.$ref.split("/").at(-1)!] as Schema : schema;

/** Where a number is in a body: names of members and places in lists, with its schema. */
type Place = { path: (string | number)[]; schema: Schema };

function placesIn(schema: Schema, path: Place["path"] = []): Place[] {
  const { type, properties = {}, items } = resolve(schema);
  if ([type].flat().some((each) => each === "integer" || each === "number")) return [{ path, schema: resolve(schema) }];
  const members = Object.entries(properties as Record<string, Schema>);
  return [
    ...members.flatMap(([name, member]) => placesIn(member, [...path, name])),
    ...items === undefined ? [] : placesIn(items as Schema, [...path, 0]),
  ];
}

/** Numbers as JSON, and whether they are within the bounds of a schema. Decimal texts go beyond what a double can tell. */
function samplesOf({ type, minimum, maximum }: Schema): [text: string, isWithin: boolean][] {
  const isInteger = [type].flat().includes("integer");
  const samples: [string, boolean][] = [];
  if (typeof minimum === "number") {
    samples.push([String(minimum), true], [String(minimum - (Math.abs(minimum) < 2 ** 53 - 1 ? 1 : 2)), false]);
    samples.push([isInteger ? `${minimum}.0` : `${minimum}e0`, true]);
    if (minimum === 0) samples.push(["-1e-400", false]);
  }
  if (typeof maximum === "number") {
    samples.push([String(maximum), true], [String(BigInt(Math.ceil(maximum)) + 1n), false]);
    // A double holds neither: one is rounded to the greatest, the other to what is above it.
    if (maximum === Number.MAX_SAFE_INTEGER) samples.push([`${maximum}.4`, false], ["9007199254740993", false]);
  }
  if (typeof maximum !== "number") samples.push(["9007199254740993", true], ["1e300", true]);
  samples.push(["1e999", false]);
  if (isInteger) samples.push(["1.5", false], [`${Number(minimum ?? 0)}.00000000000000000001`, false]);
  return samples;
}

const mark = 918_273_645;

/** The body with the mark at a place. Undefined if it has no list with an item there, as what else an item needs is not known. */
function withMark(body: unknown, [step, ...rest]: Place["path"]): unknown {
  if (step === undefined) return mark;
  if (typeof step === "number") {
    const [first, ...others] = Array.isArray(body) ? body : [];
    const item = first === undefined ? undefined : withMark(first, rest);
    return item === undefined ? undefined : [item, ...others];
  }
  const member = withMark(Object(body)[step], rest);
  return member === undefined ? undefined : { ...Object(body), [step]: member };
}

const nameOf = (path: Place["path"]) =>
  path.map((step) => typeof step === "number" ? `[${step}]` : `.${step}`).join("").slice(1);

let count = 0;

for (const operation of contract.operations) {
  const { operationId, method, requestBody, security } = operation;
  const asks = Object.entries(cases[operationId] ?? {}).flatMap(([status, asks]) => status.startsWith("2") ? asks : []);
  const schema = requestBody?.content["application/json"]?.schema;
  const places = schema === undefined ? [] : placesIn(schema as Schema);
  if (asks.length === 0 || places.length === 0) continue;
  const names = places.map(({ path }) => nameOf(path)).join(", ");
  test(`${operationId} accepts numbers within their bounds, and no others: ${names}`, async () => {
    const world = await openWorld();
    const bodies: Sent[] = [];
    for (const ask of asks) bodies.push(await ask(world));
    const headers = bearer(security.some((each) => "adminToken" in each) ? adminToken : world.key);
    for (const { path, schema } of places) {
      const sent = bodies.find(({ body }) => withMark(body, path) !== undefined);
      assert.ok(sent, `No request has ${nameOf(path)}`);
      for (const [text, isWithin] of samplesOf(schema)) {
        const body = JSON.stringify(withMark(sent.body, path)).replace(String(mark), text);
        const { url } = contract.toRequest(operation, { ...sent, body: undefined }, headers);
        const answer = await readAnswer(
          await world.fetch(
            new Request(url, { method, headers: { ...headers, "Content-Type": "application/json" }, body }),
          ),
        );
        const { error = "", results } = Object(answer.json) as { error?: string; results?: { error?: string }[] };
        const isRefused = /^Field .* must be (an integer|a number|a finite number)\b/.test(
          results?.[0]?.error ?? error,
        );
        assert.is(isRefused, !isWithin, `${nameOf(path)} ${text}: ${answer.status} ${answer.text}`);
        assert.ok(answer.status < 500, answer.text);
        count++;
      }
    }
  });
}

test("a number in each kind of body was tried", () => assert.ok(count > 300, String(count)));

test.run();
