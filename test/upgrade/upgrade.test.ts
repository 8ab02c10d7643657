// Databases of older builds, as those builds made them: today's code upgrades each, prints what the build printed, and answers
// as it answered. `make.ts` makes them. `WRITE_TABLE=1` writes the table of src/deploy/README.md, which is checked otherwise.
import { readFile, writeFile } from "node:fs/promises";
import process from "node:process";
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { Database } from "../../src/database/database.ts";
import { migrations } from "../../src/database/migrations.ts";
import { openMigrated } from "../../src/database/file/open-migrated.ts";
import { serveDatabase } from "../../src/service/service.ts";
import { runIn } from "../cli/places.ts";
import { createFolder } from "../conformance/processes.ts";
import { captureLog, readAnswer } from "../helpers.ts";
import { pathOf } from "../runtimes.ts";
import { comparedHeaders, readDatabase, readFixtures } from "./fixture.ts";
import type { Fixture } from "./fixture.ts";

const test = suite("upgrade from older builds");

const { path: folder, remove } = await createFolder();
test.after(remove);

const fixtures = await readFixtures();
const nameOf = ({ commit, version, date }: Fixture) => `${version} of ${date} (${commit})`;

/** Writes the database of a fixture, and returns its path. */
async function unpack(fixture: Fixture): Promise<string> {
  const path = `${folder}/${fixture.commit}.db`;
  await writeFile(path, await readDatabase(fixture));
  return path;
}

/** What JSON says. A number with more digits than a double has stays as it is written. */
const parse = (text: string): unknown => JSON.parse(text.replace(/(?<=[:[,] ?)-?\d[\d.]{15,}(?=[,}\]])/g, '"$&"'));

type Members = Record<string, unknown> & { submitted?: Record<string, unknown> };

/**
 * A member of what is printed. A record that was submitted with members of its own that are called `feedback` or `rollout` has
 * them in `submitted` since records have those, as the release notes say.
 */
const memberOf = (now: Members | undefined, name: string): unknown =>
  ["feedback", "rollout"].includes(name) ? now?.submitted?.[name] ?? now?.[name] : now?.[name];

/** Asserts that whatever was there is there, with the same value. Members may have been added. */
function assertKept(now: unknown, then: unknown, where: string): void {
  if (Array.isArray(then)) {
    assert.is((now as unknown[]).length, then.length, `${where}.length`);
    then.forEach((each, index) => assertKept((now as unknown[])[index], each, `${where}[${index}]`));
  } else if (typeof then === "object" && then !== null) {
    for (const [name, value] of Object.entries(then)) {
      assertKept(memberOf(now as Members, name), value, `${where}.${name}`);
    }
  } else assert.is(now, then, where);
}

/** A new record has another id each time. */
const withoutNewIds = (text: string, known: string) =>
  text.replace(/diag_[0-9a-z]+/g, (id) => known.includes(id) ? id : "diag_…");

/** What is compared in each run: records, and the verdict of verify. */
const isEssential = ([noun, verb]: string[]) => noun === "verify" || noun === "diagnosis" && verb === "list";

for (const fixture of fixtures.filter(({ refusal }) => refusal === null)) {
  test(`a database of ${nameOf(fixture)} is upgraded, holds what it held, and serves as it served`, async () => {
    const path = await unpack(fixture);
    const { database, applied } = await openMigrated(`file:${path}`, "serve");
    assert.equal([...fixture.migrations, ...applied], migrations.map(({ name }) => name));
    for (const { args, text } of fixture.printed.filter(({ args }) => isFull || isEssential(args))) {
      const { code, out, said } = await runIn([...args, "--json"], { DATABASE_URL: `file:${path}` });
      assert.is(code, 0, `${args.join(" ")}: ${said} ${out}`);
      assertKept(parse(out), parse(text), args.join(" "));
    }
    await assertServes(database, fixture);
  });
}

for (const fixture of fixtures.filter(({ refusal }) => refusal !== null)) {
  test(`a database of ${nameOf(fixture)} is refused and left as it is`, async () => {
    const path = await unpack(fixture), before = await readFile(path);
    const { code, said } = await runIn(["migrate"], { DATABASE_URL: `file:${path}` });
    assert.equal([code, said.replaceAll(path, "promptledger.db")], [1, `${fixture.refusal}\n`]);
    assert.ok(before.equals(await readFile(path)));
  });
}

/** Asserts that requests are answered as the build answered them, quotas included. */
async function assertServes(database: Database, { answered, answeredAt, printed }: Fixture): Promise<void> {
  const { log } = captureLog("error");
  const { fetch, close } = serveDatabase(database, { clock: () => answeredAt, log });
  const known = printed.map(({ text }) => text).join("\n");
  for (const { asked: { method, path, headers, body }, answer } of answered) {
    const request = new Request(`http://ledger.test${path}`, { method, headers, ...body === "" ? {} : { body } });
    const { status, headers: got, text } = await readAnswer(await fetch(request));
    const kept = comparedHeaders.filter((name) => got.has(name)).map((name) => [name, got.get(name)]);
    const where = `${method} ${path} ${body}`;
    assert.equal([status, Object.fromEntries(kept)], [answer.status, answer.headers], where);
    assertKept(parse(withoutNewIds(text, known)), parse(withoutNewIds(answer.text, known)), where);
  }
  await close();
}

/** The table of the builds, as the documentation has it. */
function toTable(): string {
  const count = (fixture: Fixture, noun: string) =>
    fixture.printed.filter(({ args }) => args[0] === noun && args[1] === "list" && !args.includes("--session"))
      .reduce((sum, { text }) => sum + JSON.parse(text).length, 0);
  const rows = fixtures.map((fixture) => [
    fixture.version,
    `\`${fixture.commit}\``,
    fixture.date,
    `\`${fixture.migrations.at(-1)}\``,
    ...fixture.refusal === null ? [String(count(fixture, "diagnosis")), String(count(fixture, "call"))] : ["", ""],
    fixture.refusal === null ? "yes" : "refused: it has other first migrations",
    fixture.onNewer === null ? "" : fixture.onNewer === "" ? "serves" : "refuses to start",
  ]);
  const cells = [
    ["version", "commit", "of", "last migration", "records", "calls", "upgraded", "on a newer database"],
    ...rows,
  ];
  const widths = cells[0]!.map((_, column) => Math.max(...cells.map((row) => row[column]!.length)));
  const lines = cells.map((row) => `| ${row.map((cell, column) => cell.padEnd(widths[column]!)).join(" | ")} |\n`);
  return [lines[0], `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |\n`, ...lines.slice(1)].join("");
}

test("the documentation lists the builds", async () => {
  const file = pathOf("src/deploy/README.md"), text = await readFile(file, "utf8");
  const [table] = /^\| version +\| commit .*\n(?:\|.*\n)+/m.exec(text)!;
  if (process.env.WRITE_TABLE) await writeFile(file, text.replace(table, toTable()));
  else assert.is(table, toTable(), "WRITE_TABLE=1 writes it");
});

test.run();
