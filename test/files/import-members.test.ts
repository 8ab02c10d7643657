// Every member of what an importer reads is kept or named: unknown members at any depth, and the table in src/cli/README.md.
// Runs on Node alone.
import fc from "fast-check";
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { sources } from "../../src/files/import/index.ts";
import { parseJson } from "../../src/common/json-text.ts";
import { isObject } from "../../src/schema/struct.ts";
import { documentAt, sectionOf } from "../documents.ts";
import { documentsOf, fileOf, filesOf, membersOf, read, shown } from "./imports.ts";
import type { Row } from "./imports.ts";

const test = suite("members of imports");

/** A value of a text that is JSON itself, such as a list of messages. */
const parsed = (text: string): unknown => /^\s*[[{]/.test(text) ? parseJson(text) : undefined;

/** A value with a member more in the object at a path. A text on the way is JSON. */
function withMember(value: unknown, path: readonly string[], name: string, own: unknown = "unknown-value"): unknown {
  if (typeof value === "string") return JSON.stringify(withMember(parsed(value), path, name, own));
  const [key, ...rest] = path;
  if (key === undefined) return { ...value as object, [name]: own };
  if (Array.isArray(value)) {
    return value.map((item, nth) => String(nth) === key ? withMember(item, rest, name, own) : item as unknown);
  }
  return { ...value as object, [key]: withMember((value as Record<string, unknown>)[key], rest, name, own) };
}

/** The object at a path. A text on the way is JSON. */
const valueAt = (value: unknown, path: readonly string[]): object =>
  path.reduce((own, key) => {
    const next = (own as Record<string, unknown>)[key];
    return (typeof next === "string" ? parsed(next) : next) as object;
  }, value as object);

/** The paths of all objects in a value. */
function objectsIn(value: unknown, path: string[] = []): string[][] {
  if (typeof value === "string") {
    const inner = parsed(value);
    return inner === undefined ? [] : objectsIn(inner, path);
  }
  const inner = Object.entries(typeof value === "object" && value !== null ? value : {}).flatMap(([name, member]) =>
    objectsIn(member, [...path, name])
  );
  return isObject(value) ? [path, ...inner] : inner;
}

/** Determines if a place is in a member that is left out as a whole, or in a prompt that is stopped. */
function isGone(
  values: unknown,
  place: readonly string[],
  left: readonly string[],
  faults: readonly string[],
): boolean {
  const dotted = `.${place.join(".")}.`;
  const names = left.flatMap((line) =>
    /: (?:Field )?(.*?) (?:is|are) left out/.exec(line)?.[1]?.split(/, | and /) ?? []
  );
  let value = values, isStopped = false;
  for (const key of place) {
    value = (typeof value === "string" ? parsed(value) : value as object)?.[key as never];
    const { name, prompt_name } = (isObject(value) ? value : {}) as Record<string, unknown>;
    isStopped ||= faults.some((line) => line.startsWith(String(name ?? prompt_name)));
  }
  return isStopped || names.some((name) => dotted.includes(`.${name}.`));
}

for (const source of sources) {
  test(`${source} keeps or names an unknown member wherever it stands, and never both`, async () => {
    for (const { path, text } of await filesOf(source)) {
      const { values, write } = documentsOf(text);
      const places = values.flatMap((value, nth) => objectsIn(value).map((place) => [String(nth), ...place]));
      for (const place of places) {
        const changed = withMember(values, place, "novelMember") as unknown[];
        const { prompts, left, faults } = await read(source, [{ path, text: write(changed) }]);
        const isNamed = [...left, ...faults].some((line) => line.includes("novelMember"));
        const isKept = JSON.stringify(shown(prompts)).includes("unknown-value");
        assert.ok(isNamed !== isKept || isGone(values, place, left, faults), `${path}: ${place.join(".")}`);
      }
    }
  });
}

// Members that tools have somewhere, so that an importer may look for one elsewhere than where it stands.
const known: Record<string, unknown> = {
  tools: [{ name: "unknown-value" }],
  tool_choice: "unknown-value",
  response_format: { type: "unknown-value" },
  model: "unknown-value",
  provider: "unknown-value",
  temperature: 0.123456,
  stop: ["unknown-value"],
};

for (const source of sources) {
  test(`${source} keeps or names a member of the field wherever it stands`, async () => {
    for (const { path, text } of await filesOf(source)) {
      const { values, write } = documentsOf(text), original = await read(source, [{ path, text: write(values) }]);
      const places = values.flatMap((value, nth) => objectsIn(value).map((place) => [String(nth), ...place]));
      for (const place of places) {
        for (const [name, value] of Object.entries(known)) {
          if (name in valueAt(values, place)) continue;
          const changed = withMember(values, place, name, value) as unknown[];
          const { prompts, left, faults } = await read(source, [{ path, text: write(changed) }]);
          const isKept = /unknown-value|0\.123456/.test(JSON.stringify(shown(prompts)));
          const isNamed = [...left, ...faults].some((line) =>
            line.includes(name) && ![...original.left, ...original.faults].includes(line)
          );
          assert.ok(isKept || isNamed || isGone(values, place, left, faults), `${path}: ${place.join(".")}.${name}`);
        }
      }
    }
  });
}

/** The rows of the table in src/cli/README.md, each cell with the names that it has in backticks. */
const rows: Row[] = sectionOf(documentAt("src/cli/README.md"), "Import from others").split("\n")
  .filter((line) => /^\| `/.test(line)).map((line) => {
    const [source, kept, left] = line.split("|").slice(1, 4).map((cell) =>
      Array.from(cell.matchAll(/`([^`]+)`/g), ([, name]) => name!)
    );
    return { source: source![0]!, kept: kept!, left: left! };
  });

test("the table of importers in src/cli/README.md says what each keeps and leaves out", async () => {
  const expected = await Promise.all(sources.map(membersOf));
  assert.equal(rows.map(({ kept, left, ...row }) => ({ ...row, kept: kept.sort(), left: left.sort() })), expected);
});

test("an importer takes an export with any of its members left out", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...sources),
      fc.infiniteStream(fc.integer({ min: 0, max: 9 })),
      async (source, random) => {
        for (const file of await filesOf(source)) {
          const { values, write } = documentsOf(file.text);
          const drop = (value: unknown): unknown =>
            Array.isArray(value) ? value.map(drop) : isObject(value)
              ? Object.fromEntries(
                Object.entries(value).filter(() => random.next().value > 0).map((
                  [name, member],
                ) => [name, drop(member)]),
              )
              : value;
          await read(source, [fileOf(source, write(drop(values) as unknown[]))]);
        }
      },
    ),
    { numRuns: isFull ? 500 : 60 },
  );
});

test.run();
