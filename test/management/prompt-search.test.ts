// The search of prompts finds a text in any case, however the JSON of the messages is written.
// Runs on Node alone.
import fc from "fast-check";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { fold } from "../../src/support/fold.ts";
import type { Prompt } from "../../src/management/prompts/prompts.ts";
import { createWorld } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { readAll, readPages, taken, toQuery } from "./management.ts";

const test = suite("search of prompts");

/** JSON as libraries of other languages write it: letters beyond ASCII as escapes, or slashes. */
const writers: Record<string, (json: string) => string> = {
  "as JavaScript does": (json) => json,
  "with escapes of letters, as Python does": (json) =>
    json.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`),
  "with escapes in capitals": (json) =>
    json.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`),
  "with escapes of slashes, as PHP does": (json) => json.replaceAll("/", "\\/"),
  "with escapes of ASCII": (json) => json.replaceAll("a", "\\u0061"),
};

/** Makes a prompt with a text in a message, whose JSON is sent as it is written. */
async function push(world: World, name: string, messages: string, title = "T"): Promise<string> {
  world.now++;
  const body = `{"name":${JSON.stringify(name)},"title":${JSON.stringify(title)},"messages":${messages}}`;
  return taken<{ id: string }>(await world.manage("POST", `/workspaces/${world.workspaceId}/prompts`, body), 201).id;
}

const messagesOf = (text: string, write = writers["as JavaScript does"]!) =>
  write(JSON.stringify([{ role: "user", content: text }]));

const find = async (world: World, text: string, more = {}): Promise<string[]> =>
  (await readAll<Prompt>(world, `/workspaces/${world.workspaceId}/prompts${toQuery({ text, ...more })}`))
    .map(({ name }) => name);

for (const [how, write] of Object.entries(writers)) {
  test(`finds a text in messages that were written ${how}, in any case`, async () => {
    const world = await createWorld();
    await push(world, "a", messagesOf("Sag Grüße aus İstanbul und/oder STRASSE 😀\nZeile", write));
    const texts = ["Grüße", "GRÜSSE", "grÜßE", "i̇stanbul", "İSTANBUL", "und/ODER", "Straße", "😀", "😀\nzeile", "sag"];
    for (const text of texts) assert.equal(await find(world, text), ["a"], text);
    for (const text of ["gruesse", "u00fc", "\\u00fc", "nZeile", "content", "istanbul"]) {
      assert.equal(await find(world, text), [], text);
    }
  });
}

test("finds a text in names, titles and parts of a message, but not in the keys of its JSON", async () => {
  const world = await createWorld();
  await push(world, "support/assistant", "[]");
  await push(world, "b", "[]", "Begrüßung");
  await push(world, "c", '[{"role":"user","content":[{"type":"text","text":"Wie groß?"}],"Name":"ÄRZTIN"}]');
  assert.equal(await find(world, "SUPPORT/"), ["support/assistant"]);
  assert.equal(await find(world, "BEGRÜSSUNG"), ["b"]);
  assert.equal(await find(world, "GROSS"), ["c"]);
  assert.equal(await find(world, "ärztin"), ["c"]);
  assert.equal(await find(world, "name"), ["greeting"]); // Greet {{name}}
});

test("looks at the newest version alone, and at what is archived only if that is asked for", async () => {
  const world = await createWorld();
  const id = await push(world, "a", messagesOf("Früher"));
  taken(await world.manage("POST", `/prompts/${id}/versions`, `{"title":"T","messages":${messagesOf("Später")}}`), 201);
  assert.equal([await find(world, "früher"), await find(world, "SPÄTER")], [[], ["a"]]);
  taken(await world.manage("POST", `/prompts/${id}/archive`));
  assert.equal([await find(world, "später"), await find(world, "später", { archived: "true" })], [[], ["a"]]);
});

// Letters whose case is not a matter of ASCII, or of one letter.
const letters = [
  "a",
  "A",
  "b",
  "i",
  "I",
  "İ",
  "ı",
  "i̇",
  "ß",
  "ẞ",
  "s",
  "S",
  "ſ",
  "σ",
  "ς",
  "Σ",
  "ü",
  "Ü",
  "K",
  "/",
  " ",
];
const word = fc.array(fc.constantFrom(...letters), { minLength: 1, maxLength: 4 }).map((parts) => parts.join(""));

test("finds what a plain search finds, page by page", async () => {
  const title = word.map((text) => `Title ${text}`);
  const prompts = fc.array(fc.tuple(title, word, fc.constantFrom(...Object.values(writers))), {
    minLength: 5,
    maxLength: 9,
  });
  await fc.assert(
    fc.asyncProperty(prompts, fc.array(word, { minLength: 6, maxLength: 6 }), async (prompts, needles) => {
      const world = await createWorld();
      for (const [nth, [title, text, write]] of prompts.entries()) {
        await push(world, `p${nth}`, messagesOf(text, write), title);
      }
      for (const needle of needles.filter((needle) => needle.trim() !== "")) {
        const expected = prompts.flatMap(([title, text], nth) =>
          [title, text, "user"].some((each) => fold(each).includes(fold(needle))) ? [`p${nth}`] : []
        ).reverse();
        const path = `/workspaces/${world.workspaceId}/prompts${toQuery({ text: needle, limit: 2 })}`;
        const pages = await readPages<Prompt>(world, path);
        const names = pages.flat().map(({ name }) => name).filter((name) => name !== "greeting");
        assert.equal(names, expected, JSON.stringify([needle, prompts.map(([title, text]) => [title, text])]));
      }
      await world.close();
    }),
    { numRuns: 25 },
  );
});

test("reads large prompts in parts, and finds each once", async () => {
  const world = await createWorld({ maxBodyBytes: 2 ** 20 });
  const filler = "ä".repeat(60_000);
  for (let nth = 0; nth < 30; nth++) await push(world, `p${nth}`, messagesOf(filler + (nth % 3 === 0 ? " Nadel" : "")));
  const expected = Array.from({ length: 10 }, (_, nth) => `p${27 - 3 * nth}`);
  assert.equal(await find(world, "NADEL"), expected);
  assert.equal(await find(world, "NADEL", { limit: 4 }), expected);
  assert.equal(await find(world, "Heu"), []);
});

test.run();
