// Feedback on the command line, on a local database and on a service.
// Runs on Node alone.
import { writeFile } from "node:fs/promises";
import fc from "fast-check";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { readCsv, readFeedbackFile } from "../../src/cli/nouns/feedback-files.ts";
import { goodBody } from "../helpers.ts";
import { openPlaces, words } from "./places.ts";
import type { Place } from "./places.ts";

const test = suite("feedback on the command line");

const { everywhere, folder, request } = await openPlaces(test);

async function submitIn({ setUp }: Place) {
  const made = await setUp();
  const submit = async () => {
    const answer = await request(made.key, made.deployId, JSON.stringify(goodBody));
    assert.is(answer.status, 201, answer.text);
    return (answer.json as { id: string }).id;
  };
  return { ...made, submit };
}

everywhere("gives, lists, replaces and withdraws feedback", async (place) => {
  const { submit } = await submitIn(place);
  const { cli, data } = place;
  const id = await submit();
  await data(words`feedback add ${id} score 0.5 --author ann --comment ${"half\u001b[31m right"}`);
  await data(words`feedback add ${id} thumb true --author ann`);
  const again = await cli(words`feedback add ${id} thumb true --author ann`);
  assert.equal([again.code, again.said], [0, "Nothing to change\n"]);
  await data(words`feedback add ${id} thumb false --author ann`);
  await data(words`feedback add ${id} tone curt --author ann`);
  await data(words`feedback remove ${id} tone --author ann`);
  const { out } = await cli(words`feedback list ${id}`);
  assert.match(out, /^name +value +author +source +givenAt +text\n/);
  assert.match(out, /\nscore +0\.5 +ann +reviewer +\S+ +half \[31m right\nthumb +false +ann/);
  assert.match(out, /\n\nearlier\nname[^]*\nthumb +true +ann[^]*\ntone +curt +ann/);
  assert.match((await cli(words`record show ${id}`)).out, /\nfeedback\n {2}name[^]*\n {2}thumb +false/);
});

everywhere("lists, filters and statistics show feedback only where there is any", async (place) => {
  const { workspaceId, deployId, submit } = await submitIn(place);
  const { cli, data } = place;
  const [first, second] = [await submit(), await submit()];
  const list = async (...more: string[]) =>
    (await cli([...words`record list --workspace ${workspaceId}`, ...more])).out;
  assert.not.match(await list(), "feedback");
  assert.not.match((await cli(words`session list --workspace ${workspaceId}`)).out, "feedback");
  await data(words`feedback add ${first} thumb false`);
  assert.match(await list(), /feedback[^]*thumb=false/);
  await data(words`feedback add ${first} tone kind`);
  const sessions = (await cli(words`session list --workspace ${workspaceId}`)).out;
  assert.match(sessions, /feedback[^]*thumb 0\.0 % true, tone 100\.0 % kind/);
  const ids = async (...more: string[]) =>
    (await data<{ id: string }[]>([...words`record list --workspace ${workspaceId}`, ...more])).map(({ id }) => id);
  assert.equal(await ids("--feedback", "thumb=0"), [first]);
  assert.equal(await ids("--feedback", "thumb<1", "--feedback", "thumb!=true"), [first]);
  assert.equal(await ids("--without-feedback"), [second]);
  assert.equal(await ids("--without-feedback", "--limit", "5"), [second]);
  assert.equal(await ids("--without-feedback", "thumb"), [second]);
  assert.equal((await ids("--without-feedback=score")).length, 2);
  const refused = await cli([...words`record list --workspace ${workspaceId} --feedback thumb`]);
  assert.equal([refused.code, refused.said.split("\n")[0]], [
    2,
    "promptledger: --feedback must be a name, one of = != < <= > >= and a value, as in thumb=false or correctness<0.5",
  ]);
  const { out } = await cli(words`stats --deploy ${deployId}`);
  assert.match(out, "thumb (1 record): 0.0 % true (95 % interval 0.0 % to 79.3 %)");
});

everywhere("imports JSON lines and CSV, and says with line numbers what it did not store", async (place) => {
  const { workspaceId, submit } = await submitIn(place);
  const { cli, data } = place;
  const [first, second] = [await submit(), await submit()];
  const lines = [
    { record: first, name: "score", value: 0.5, author: "judge" },
    { record: `${first.slice(0, -2)}7f`, name: "score", value: 1 },
    { record: "later", name: "score", value: 1 },
  ].map((line) => JSON.stringify(line));
  const scope = words`--workspace ${workspaceId}`;
  const text = [lines[0], "", "{oops", lines[1], lines[2], '{"record":"x","name":"score","value":null}'].join("\r\n");
  const { code, json, said, reports } = await cli([...words`feedback import - --json`, ...scope], text);
  const { refused, ...sum } = json as { refused: { line: number; error: string }[] };
  assert.equal([code, sum, refused.map(({ line }) => line)], [1, { stored: 2, waiting: 1, unchanged: 0 }, [3, 4, 6]]);
  assert.match(
    said,
    /^Refused 3 of 5 lines\n {2}line 3: It is not JSON: [^]*\n {2}line 4: Record \S+ not found\n {2}line 6: /,
  );
  assert.ok(reports.includes("Imported 3 of 3"));
  const path = `${folder}/scores.csv`;
  await writeFile(
    path,
    `record,name,value,comment,author\r\n${first},thumb,true,"Said ""yes"",\nthen left",\r\n${second},tone,curt,,ann\r\n`,
  );
  assert.equal(await data([...words`feedback import ${path}`, ...scope]), {
    ...{ stored: 2, waiting: 0, unchanged: 0 },
    refused: [],
  });
  assert.is((await data([...words`feedback import ${path}`, ...scope])).unchanged, 2);
  const listed = await data<{ feedback: { name: string; value: unknown; comment: string }[] }>(
    words`feedback list ${first}`,
  );
  assert.equal(listed.feedback.map(({ name, value, comment }) => [name, value, comment]), [
    ["score", 0.5, ""],
    ["thumb", true, 'Said "yes",\nthen left'],
  ]);
  for (const [bad, expected] of [["record,value\n", "The first line of FILE must name"], ["\n", "The first line"]]) {
    await writeFile(path, bad!);
    const { code, said } = await cli([...words`feedback import ${path}`, ...scope]);
    assert.ok(code !== 0 && said.includes(expected!), said);
  }
});

type Shown = { value: number };

everywhere("lists all feedback on a record, in however many pages it comes", async (place) => {
  const { workspaceId, submit } = await submitIn(place);
  const { cli, data } = place;
  const id = await submit(), comment = "x".repeat(8_000); // of which a page has some 120
  const lines = Array.from({ length: 150 }, (_, nth) => ({ record: id, name: `n${nth % 2}`, value: nth, comment }));
  await cli(
    [...words`feedback import -`, "--workspace", workspaceId],
    lines.map((line) => JSON.stringify(line)).join("\n"),
  );
  const { feedback, earlier, ...rest } = await data<{ feedback: Shown[]; earlier: Shown[] }>(
    words`feedback list ${id}`,
  );
  assert.equal([feedback.map(({ value }) => value), rest], [[148, 149], {}]);
  assert.equal(earlier.map(({ value }) => value).sort((a, b) => a - b), [...Array(148).keys()]);
});

everywhere("declares names, and tells how far two authors agree", async (place) => {
  const { workspaceId, submit } = await submitIn(place);
  const { cli, data } = place;
  const scope = words`--workspace ${workspaceId}`;
  await data([...words`feedback declare tone --kind label --label kind --label curt`, ...scope]);
  await data([...words`feedback declare score --kind number --minimum 0 --better higher`, ...scope]);
  const { out } = await cli([...words`feedback names`, ...scope]);
  assert.match(out, /\nscore +number +yes +0 to ∞ +higher\ntone +label +yes +kind, curt +-\n/);
  for (const values of [["kind", "kind"], ["curt", "kind"], ["curt", "curt"]]) {
    const id = await submit();
    await data(words`feedback add ${id} tone ${values[0]!} --author ann`);
    await data(words`feedback add ${id} tone ${values[1]!} --author bob`);
  }
  const { kappa, ...rest } = await data<{ kappa: number }>([
    ...words`feedback agreement tone --authors ann,bob`,
    ...scope,
  ]);
  assert.equal(rest, { name: "tone", kind: "label", records: 3, agreed: 2 });
  assert.is(kappa.toFixed(4), "0.4000");
  assert.is((await cli([...words`feedback undeclare tone`, ...scope])).code, 0);
});

test("any cells are read from CSV as they were written, with any line break", () => {
  const cell = fc.string({ unit: fc.constantFrom("a", '"', ",", "\r", "\n", " ", "é") });
  const table = fc.array(fc.array(cell, { minLength: 2, maxLength: 3 }), { maxLength: 5 });
  fc.assert(fc.property(table, fc.constantFrom("\n", "\r\n", "\r"), fc.boolean(), (rows, lineBreak, isEnded) => {
    const written = rows.map((cells) => cells.map((text) => `"${text.replaceAll('"', '""')}"`).join(",")).join(
      lineBreak,
    );
    const text = `\ufeff${written}${isEnded ? lineBreak : ""}`;
    assert.equal(readCsv(text, "FILE").map(({ cells }) => cells), rows);
  }));
});

test("a quote without its counterpart is refused with its line", () => {
  assert.throws(() => readCsv('a,b\n1,"2\n', "FILE"), "FILE is not CSV: line 2 has a quote without its counterpart");
});

test("the values of CSV are booleans, numbers and labels, and no other text is taken", () => {
  const value = (word: string) => {
    const { pieces, refused } = readFeedbackFile(`record,name,value\nr,n,${word}\n`, "csv");
    return refused[0]?.error ?? pieces[0]!.piece.value;
  };
  assert.equal(["true", "false", "-0.5e1", "TRUE", "007", "1,5"].map(value), [
    ...[true, false, -5, "TRUE", "007"],
    "It has 4 columns, and the first line 3",
  ]);
  for (const word of ["", "1e999", "x".repeat(201)]) assert.match(String(value(word)), /^(Missing|Field value must)/);
});

test.run();
