// Operations declare their answers, revisions and pages as their inputs and outputs have them, and no face guesses them from the
// names of members.
import { readdirSync, readFileSync } from "node:fs";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { ExportText } from "../../src/management/kernel/export.ts";
import { operations } from "../../src/management/index.ts";
import { namesActor } from "../../src/management/kernel/operation.ts";
import { metaOf } from "../../src/schema/struct.ts";
import { pathOf } from "../runtimes.ts";

const test = suite("declarations of operations");

for (const operation of operations) {
  const { id, method, role, input: { schema }, output, answers, formats, revision = [], paged, locate } = operation;
  const members = metaOf(output).members ?? {};

  test(`${id} declares its answers, revisions and pages`, () => {
    assert.is(answers === "created" || answers === "found or created", locate !== undefined, "a place");
    assert.is(answers === "export", output === ExportText, "an export");
    assert.is(formats !== undefined, answers === "export", "formats");
    assert.is(formats !== undefined && formats.length > 1, answers === "export" && "format" in schema, "a format");
    assert.is(revision.includes("if-match"), "ifRevision" in schema, "If-Match");
    assert.is(revision.includes("etag"), "revision" in members, "ETag");
    assert.is(paged !== undefined, "cursor" in schema && "nextCursor" in members, "pages");
    assert.is(namesActor(operation), "actor" in schema && role !== "viewer", "the actor");
    if (answers === "created") assert.is(method, "POST");
  });
}

test("no face finds out what an operation does by the names of members", () => {
  const faces = ["http", "cli", "mcp", "console"].flatMap((folder) =>
    readdirSync(pathOf(`src/${folder}`), { recursive: true, encoding: "utf8" }).map((path) => `${folder}/${path}`)
  ).filter((path) => /\.tsx?$/.test(path));
  const guess =
    /"(actor|cursor|failures|format|ifRevision|page|revision|text)" in |\bid\.(startsWith|endsWith|includes)\("(create|list)/;
  assert.equal(faces.filter((path) => guess.test(readFileSync(pathOf(`src/${path}`), "utf8"))), []);
});

test.run();
