// Reviews on the command line, on a local database and on a service.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { goodBody } from "../helpers.ts";
import { openPlaces, words } from "./places.ts";

const test = suite("reviews on the command line");

const { everywhere, request } = await openPlaces(test);

everywhere("creates a review, and works through it", async ({ cli, data, setUp }) => {
  const { workspaceId, key, deployId } = await setUp();
  for (const input of ["first", "second \u001b[31mred", "third"]) {
    const body = JSON.stringify({ ...goodBody, content: { input, output: "Hi" } });
    assert.is((await request(key, deployId, body)).status, 201);
  }
  const scope = ["--workspace", workspaceId];
  const none = await cli([...words`review list`, ...scope]);
  assert.equal([none.code, none.said], [0, "No reviews\n"]);
  const empty = await cli([...words`review create x --model none`, ...scope]);
  assert.equal([empty.code, empty.said], [1, "promptledger: No record matches the filter\n"]);
  const title = "Week\u202e 47";
  const { id, names, filter } = await data<{ id: string; names: string[]; filter: object }>([
    ...words`review create ${title} --deploy ${deployId} --status ok --name thumb --name tone --records 2`,
    ...scope,
  ]);
  assert.equal([names, filter], [["thumb", "tone"], { deployId, status: "ok" }]);
  const { out: list } = await cli([...words`review list`, ...scope]);
  assert.match(list, /^createdAt +title +records +open +taken +done +skipped +gone +createdBy +id\n/);
  assert.match(list, /Week {2}47 +2 +2 +0 +0 +0 +0/);

  const next = await cli(words`review next ${id}`);
  assert.equal([next.code, next.said], [0, "0 of 2 done, 1 taken, 1 open\n"]);
  assert.match(next.out, /\ninput\n {2}third\n/);
  const { record: { recordId } } = await data<{ record: { recordId: string } }>(words`review next ${id}`);
  assert.match(next.out, recordId);
  await data(words`feedback add ${recordId} thumb true`);
  const done = await data<{ state: string }>(words`review done ${id} ${recordId}`);
  assert.is(done.state, "done");
  const { out } = await cli(words`review next ${id}`);
  assert.match(out, "  second \\u001b[31mred\n");
  const { record: second } = await data<{ record: { recordId: string } }>(words`review next ${id}`);
  await data(words`review skip ${id} ${second.recordId}`);
  const over = await cli(words`review next ${id}`);
  assert.equal([over.code, over.out, over.said], [0, "", "No record is free: 1 of 2 done, 1 skipped\n"]);
  await data(words`review return ${id} ${second.recordId}`);
  const shown = await cli(words`review show ${id}`);
  assert.match(shown.out, /\nprogress +1 of 2 done, 1 open\nreviewers\n {2}reviewer +taken +done +skipped +lastAt\n/);
  const other = await cli(words`review done ${id} ${second.recordId}`);
  assert.equal([other.code, other.said], [
    1,
    `promptledger: Record ${second.recordId} is not yours in this review. Take it first\n`,
  ]);
  await data(words`review delete ${id} --note ${"Over"}`);
  assert.equal((await cli(words`review show ${id}`)).said, `promptledger: Review ${id} not found\n`);
});

everywhere("refuses what cannot be", async ({ cli, setUp }) => {
  const { workspaceId } = await setUp();
  for (
    const [args, said] of [
      [words`review create`, "Missing TITLE"],
      [
        words`review create x --records 10001 --workspace ${workspaceId}`,
        "--records must be an integer from 1 to 10000",
      ],
      [
        words`review create x --seed 4294967296 --workspace ${workspaceId}`,
        "--seed must be an integer from 0 to 4294967295",
      ],
      [words`review create x --order oldest --workspace ${workspaceId}`, "--order must be newest or random"],
      [words`review done x`, "Missing RECORD"],
      [words`review next x`, "Review x not found"],
    ] as const
  ) {
    const result = await cli(args);
    assert.is.not(result.code, 0);
    assert.match(result.said, said);
  }
});

test.run();
