// Generates requests to every operation of the management API.
import fc from "fast-check";
import { operations } from "../../src/management/index.ts";
import type { AnyOperation } from "../../src/management/kernel/operation.ts";
import { isOptional } from "../../src/schema/struct.ts";
import type { Schema } from "../../src/schema/struct.ts";
import { adminToken } from "../helpers.ts";
import type { Tenant } from "../helpers.ts";
import { value, wrongBody } from "./malformed.ts";
import { mostly, queries, seldom, text } from "./corpus.ts";
import type { Head } from "./corpus.ts";

/** Objects that the requests may use. Nothing else depends on them. */
export type Managed = Tenant & { recordId: string };
export type Management = Head & { operation: AnyOperation };

const most = String(Number.MAX_SAFE_INTEGER), longest = String(10 * 366 * 86_400_000);

const goodMembers: Record<string, string[]> = {
  name: ['"a-name"', '"another"'],
  monthlyLimit: ["10", "1e3", most],
  upgradeUrl: ["null", '"https://example.com/?q=1"'],
  expiresAt: ["null", "4000000000000", most],
  role: ['"viewer"', '"owner"'],
  overlapMs: ["0", "1000", longest],
  olderThanMs: ["86400000", longest],
  keepRecordsMs: ["null", longest],
  keepCallsMs: ["null", longest],
  validFrom: ["0", "8640000000000001", most],
  input: ['"0.15"', '"999999.999999999"'],
  output: ['"0"', '"999999.999999999"'],
  title: ['"Title"', '"\\ud800"'],
  description: ['""', '"Says \\"hello\\""'],
  messages: ["[]", '[{"role":"system","content":"Greet {{name}}","weight":1.0,"__proto__":[]}]'],
  llmConfig: ["{}", '{"temperature":1.0,"seed":12345678901234567890,"":1e400}'],
  declarations: ["{}", '{"name":{"type":"number","example":1.50,"required":false},"größe":{"type":"text"}}'],
  values: ['{"name":"Ann"}', '{"name":"\\ud800","__proto__":""}'],
  version: ["1"],
  from: ["1", most],
  to: ["1", most],
  slowerThan: ["0", longest],
  moreTokensThan: ["0", most],
  costlierThan: ['"0"', '"999999999999.99999999999999999999"'],
  deploy: ['"production"', '"staging"'],
  actor: ['"ann"'],
  note: ['"why\\nso"'],
  limit: ["1", "1000"],
  status: ["1", "-1", `"${most},-${most}"`],
  sessionId: ['"session-1"', '"none"'],
  text: ['"hello"', '"%_\\\\"'],
  format: ['"csv"', '"ndjson"', '"promptfoo"'],
  operation: ['"read"'],
  month: ['"2026-11"'],
};

const all = operations as readonly AnyOperation[];
const creations = all.filter(({ locate }) => locate !== undefined);

/** Requests to the management API, most of them wrong. Half of them are to create something, which few succeed in. */
export const management = (managed: Managed): fc.Arbitrary<Management> =>
  fc.oneof(fc.constantFrom(...all), fc.constantFrom(...creations)).chain((operation) => {
    const { method, path, input } = operation;
    const inPath = [...path.matchAll(/(\w+)\/{(\w+)}/g)].map(([, noun, name]) => [noun!, name!] as const);
    const names = Object.keys(input.schema).filter((name) => inPath.every(([, taken]) => taken !== name));
    const ids = inPath.map(([noun]) => mostly(fc.constant(idOf(noun, managed)), wrongIds(managed)));
    const hasBody = method === "POST" || method === "PATCH";
    return fc.record({
      ids: fc.tuple(...ids),
      members: membersOf(input.schema, names, managed),
      wrongBody: seldom(wrongBody),
      wrongQuery: seldom(queries),
      token: fc.oneof(
        { weight: 12, arbitrary: fc.constant([`Authorization: Bearer ${adminToken}`]) },
        {
          weight: 1,
          arbitrary: fc.constantFrom([], [`Authorization: Bearer ${managed.key}`], ["Authorization: Bearer"]),
        },
      ),
      match: fc.oneof(
        { weight: 6, arbitrary: fc.constant([]) },
        {
          weight: 1,
          arbitrary: fc.constantFrom(['If-Match: "1"'], ['If-Match: W/"1"'], ["If-Match: *"], ["If-Match: 1"]),
        },
        { weight: 1, arbitrary: text.map((text) => [`If-Match: ${text}`]) },
      ),
    }).map(({ ids, members, wrongBody, wrongQuery, token, match }) => {
      let index = 0;
      const filled = path.replace(/{\w+}/g, () => ids[index++]!);
      const body = wrongBody ?? `{${members.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join()}}`;
      const query = wrongQuery ??
        members.map(([name, json]) => `${name}=${encodeURIComponent(toText(json))}`).join("&");
      const target = `/admin/v1${filled}${hasBody ? "" : `?${query}`}`;
      return { operation, method, target, headers: [...token, ...match], ...(hasBody ? { body } : {}) };
    });
  });

function idOf(noun: string, { workspaceId, keyId, promptId, deployId, recordId }: Managed): string {
  const ids: Record<string, string> = {
    workspaces: workspaceId,
    keys: keyId,
    prompts: promptId,
    deployments: deployId,
    diagnoses: recordId,
    usage: "2026-11",
    versions: "1",
  };
  return ids[noun]!;
}

const wrongIds = ({ workspaceId, key }: Managed) =>
  fc.oneof(
    // A segment of dots would change the path.
    fc.string({ unit: "binary", minLength: 1 }).filter((text) => !/^\.+$/.test(text)).map((text) =>
      encodeURIComponent(text.toWellFormed())
    ),
    fc.constantFrom(
      workspaceId,
      key,
      "%ff",
      "%",
      "%00",
      "..%2f..",
      "0",
      "-1",
      "1e3",
      "x".repeat(200),
      "__proto__",
      "null",
    ),
  );

/** Members of an input, most with a valid value, and sometimes an unknown one. */
const membersOf = (schema: Schema, names: string[], { promptId, keyId, deployId }: Managed) => {
  const good: Record<string, string[]> = {
    ...goodMembers,
    promptId: [JSON.stringify(promptId)],
    keyId: [JSON.stringify(keyId)],
    deployId: [JSON.stringify(deployId)],
  };
  const required = names.filter((name) => !isOptional(schema[name]!));
  const others = names.filter((name) => !required.includes(name));
  const member = (name: string) =>
    fc.oneof(
      { weight: 15, arbitrary: fc.constantFrom(...Object.hasOwn(good, name) ? good[name]! : ['"1"', "1"]) },
      { weight: 1, arbitrary: value.map(({ text }) => text) },
    ).map((json) => [name, json] as const);
  return fc.tuple(
    mostly(fc.constant(required), fc.subarray(required)).chain((some) => fc.tuple(...some.map(member))),
    fc.subarray(others).chain((some) => fc.tuple(...some.map(member))),
    seldom(fc.constantFrom("id", "ifRevision", "extra", "__proto__").chain(member)),
  ).map(([required, others, extra]) => [...required, ...others, ...(extra === undefined ? [] : [extra])]);
};

const toText = (json: string): string => {
  const parsed: unknown = JSON.parse(json);
  return typeof parsed === "string" ? parsed.toWellFormed() : json;
};
