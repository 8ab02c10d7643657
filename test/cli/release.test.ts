// Prompts as files on the command line: plan and apply.
// Runs on Node alone.
import { readFile } from "node:fs/promises";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { openPlaces, runIn, words } from "./places.ts";
import type { Data, Place } from "./places.ts";
import { bothLatest, createPromptFolder, markdown } from "./prompt-folders.ts";
import { adminToken } from "../helpers.ts";

const test = suite("plan and apply");

const { here, everywhere, folder, url } = await openPlaces(test);

let made = 0;

/** A workspace, and a folder whose files go to it. */
async function open(place: Place, files: Record<string, string> = {}) {
  const nth = made++;
  const { id } = await place.data<{ id: string }>(words`workspace create --name ${`W${nth}`}`);
  const repository = await createPromptFolder(`${folder}/${nth}`, files);
  const scope = ["--dir", repository.path, "--workspace", id];
  return {
    ...{ id, repository, place },
    plan: (...more: string[]) => place.cli(["plan", ...scope, ...more]),
    apply: (...more: string[]) => place.cli(["apply", ...scope, ...more]),
    /** The newest version of each prompt, and what each deployment serves. */
    async ledger() {
      const prompts = await place.data<Data[]>(words`prompt list --workspace ${id}`);
      const deployments = await place.data<Data[]>(words`deploy list --workspace ${id}`);
      return [
        ...prompts.map(({ name, latestVersion }) => `${name} ${latestVersion}`),
        ...deployments.map(({ reference, currentVersion }) => `${reference} ${currentVersion}`),
      ].sort();
    },
    /** Makes a version elsewhere, as the console does. */
    async push(name: string, text: string, ...more: string[]) {
      const prompt = { title: "Title", messages: [{ role: "user", content: text }] };
      await place.data(
        words`prompt push - --name ${name} --workspace ${id} ${["--new", ...more]}`,
        JSON.stringify(prompt),
      );
    },
  };
}

const nothing = "Nothing to do: files and ledger are the same\n";

everywhere("a plan says what is new, and after it was applied there is nothing to do", async (place) => {
  const { plan, apply, ledger } = await open(place, { "a.md": markdown("Hello {{name}}"), "b/c.md": "Hi" });
  const expected = "+ a: new prompt\n→ a@staging: new, version 1, variables: + name\n" +
    "→ a@production: new, version 1, variables: + name\n" +
    "+ b/c: new prompt\n→ b/c@staging: new, version 1\n→ b/c@production: new, version 1\n2 new prompts, 4 promotions\n";
  const planned = await plan();
  assert.equal([planned.code, planned.out, planned.said], [0, expected, ""]);
  assert.equal(await ledger(), []);
  assert.is((await plan("--check")).code, 3);
  const applied = await apply();
  assert.equal([applied.code, applied.said], [0, `${expected}Applied, all in one transaction\n`]);
  assert.is(
    applied.out,
    "a version 1\nb/c version 1\na@staging serves version 1\na@production serves version 1\n" +
      "b/c@staging serves version 1\nb/c@production serves version 1\n",
  );
  const state = ["a 1", "a@production 1", "a@staging 1", "b/c 1", "b/c@production 1", "b/c@staging 1"];
  assert.equal(await ledger(), state);
  const after = await plan("--check");
  assert.equal([after.code, after.out], [0, nothing]);
  const again = await apply();
  assert.equal([again.code, again.out, again.said], [0, "", `${nothing}Nothing to do\n`]);
});

everywhere("a plan shows how versions differ, and which variables come and go where", async (place) => {
  const { repository, plan, apply } = await open(place, { "a.md": markdown("Hello {{name}}\n\nBye") });
  await apply();
  await repository.put({ "a.md": markdown("Hello {{shop}}\n\nBye") });
  const lines = [
    "~ a: version 2",
    "    @@ -1,7 +1,7 @@",
    "     title: Title",
    "     description:",
    "     --- user",
    "    -Hello {{name}}",
    "    +Hello {{shop}}",
    "     ",
    "     Bye",
    "     --- llmConfig",
    "→ a@staging: 1 → 2, variables: + shop, - name",
    "→ a@production: 1 → 2, variables: + shop, - name",
    "1 new version, 2 promotions",
  ];
  assert.is((await plan()).out, `${lines.join("\n")}\n`);
  const { json } = await plan("--json");
  const { counts, prompts: [prompt] } = json as { counts: Data; prompts: Record<string, unknown>[] };
  assert.equal([counts.versions, counts.promotions, counts.changedElsewhere], [1, 2, 0]);
  assert.equal([prompt!.name, prompt!.base, (prompt!.push as Data).version], ["a", 1, 2]);
});

everywhere("white space, order and digits that mean the same are no change", async (place) => {
  const { repository, plan, apply } = await open(place, {
    "a.md": "---\nllmConfig: { temperature: 0.5, seed: 12345678901234567890 }\n---\n# user\nHi\n",
  });
  await apply();
  await repository.put({
    "a.md": "---\n# why\nllmConfig:\n  seed: 12345678901234567890\n  temperature: 0.50\n---\n\n\n# user\n\nHi\n\n\n",
  });
  assert.is((await plan()).out, nothing);
});

everywhere("a change elsewhere is drift, which apply does not bury without --force", async (place) => {
  const { repository, plan, apply, push, ledger } = await open(place, { "a.md": markdown("one") });
  await apply();
  await push("a", "hotfix", "--deploy", "production", "--note", "Hotfix");
  await push("new", "elsewhere");
  const { code, out } = await plan("--check");
  assert.is(code, 3);
  assert.match(out, /^! a@production: version 2 was made live elsewhere .*on \d{4}-\d\d-\d\d \d\d:\d\dZ: "Hotfix"$/m);
  assert.match(out, /^! a: version 2 was pushed elsewhere, and no file has it .*: "Hotfix"$/m);
  assert.match(out, /^! new: is in no file\. Version 1 was pushed/m);
  assert.match(out, /\n1 new version, 2 promotions, 3 changes elsewhere\n$/);
  await repository.put({ "a.md": markdown("two") });
  const before = await ledger();
  for (const sure of [[], ["--yes"]]) {
    const refused = await apply(...sure);
    assert.is(refused.code, 1);
    assert.match(
      refused.said,
      "promptledger: Changed elsewhere, and in no commit: version 2 of a; version 2 that a@production serves. Pull it " +
        "(with --live what is live), commit it and plan again, or apply with --force\n",
    );
  }
  assert.equal(await ledger(), before);
  assert.is((await apply("--force")).code, 0);
  assert.equal(await ledger(), ["a 3", "a@production 3", "a@staging 3", "new 1"]);
});

everywhere("a prompt that is in no file alone differs only for --check, and is nothing to do", async (place) => {
  const { plan, apply, push } = await open(place, { "a.md": markdown("one") });
  await apply();
  await push("new", "elsewhere");
  const { code, out } = await plan("--check");
  assert.equal([code, out.endsWith("\nNothing to do. 1 change elsewhere\n")], [3, true]);
  assert.match((await apply()).said, /Nothing to do\n$/);
});

everywhere("a rollback elsewhere is drift, which apply does not undo", async (place) => {
  const { id, repository, plan, apply, ledger } = await open(place, { "a.md": markdown("one") });
  await apply();
  await repository.put({ "a.md": markdown("two") });
  await apply();
  await place.data(words`deploy rollback a@production --workspace ${id} --note Worse`);
  assert.match(
    (await plan()).out,
    /^→ a@production: 1 → 2\n! a@production: version 1 was made live elsewhere .*: "Worse"\n1 promotion, 1 change elsewhere\n$/,
  );
  assert.match((await apply()).said, "in no commit: version 1 that a@production serves.");
  assert.equal(await ledger(), ["a 2", "a@production 1", "a@staging 2"]);
  // The files may go back too.
  await repository.put({ "a.md": markdown("one") });
  assert.is((await apply()).code, 0);
  assert.equal(await ledger(), ["a 3", "a@production 3", "a@staging 3"]);
});

everywhere("where a deployment needs an approval, apply requests the promotion, says so and exits 3", async (place) => {
  const { id, repository, apply, ledger } = await open(place, { "a.md": markdown("one") });
  await apply();
  await place.data(words`deploy protect a@production --workspace ${id} --approvals 1`);
  await repository.put({ "a.md": markdown("two") });
  const asked = await apply("--note", "Shorter");
  assert.is(asked.code, 3);
  const waits = /^a@production: version 1 → version 2 waits for an approval: see change show change_\w+$/m;
  assert.match(asked.said, waits);
  assert.match(asked.said, "Applied, all in one transaction\n");
  assert.equal(await ledger(), ["a 2", "a@production 1", "a@staging 2"]);
  for (const more of [[], ["--each"]]) {
    const again = await apply("--json", ...more);
    const { changes, prompts } = again.json as Data & { changes: number; prompts: { deployments: Data[] }[] };
    const { request } = prompts[0]!.deployments[0] as unknown as { request: { state: string; note: string } };
    assert.equal([again.code, changes, request.state, request.note], [3, 0, "open", "Shorter"]);
    assert.match(again.said, waits);
    assert.match(again.said, "Nothing had to be changed\n");
  }
});

everywhere("a plan that was kept is applied exactly, once, and not when anything has moved since", async (place) => {
  const { repository, plan, ledger, push } = await open(place, { "a.md": markdown("one"), "b.md": markdown("b") });
  const file = `${repository.path}/plan.json`;
  const planned = await plan("--out", file, "--note", "First", "--source", "abc123");
  assert.is(planned.said, `Apply exactly this with: promptledger apply ${file}\n`);
  await repository.put({ "a.md": markdown("not planned") });
  const first = await place.cli(["apply", file]);
  assert.equal([first.code, first.said], [0, "Applied, all in one transaction\n"]);
  const state = await ledger();
  const second = await place.cli(["apply", file, "--json"]);
  assert.equal([second.code, (second.json as Data).changes], [0, 0]);
  assert.equal([second.said, await ledger()], ["Nothing had to be changed\n", state]);

  await plan("--out", file);
  await push("a", "hotfix");
  const moved = await place.cli(["apply", file]);
  assert.equal([moved.code, moved.out], [1, ""]);
  assert.match(moved.said, "Changed since it was planned: a is at version 2, planned at 1. Plan again\n");
  for (const option of [["--prune"], ["--dir", "x"], ["--deploy", "x"], ["--source", "x"]]) {
    const { code, said } = await place.cli(["apply", file, ...option]);
    assert.equal([code, said], [1, `promptledger: ${option[0]} is for planning: ${file} says what to do\n`]);
  }
  const other = await place.data(words`workspace create --name ${`other ${repository.path}`}`);
  const elsewhere = await place.cli(["apply", file, "--workspace", other.id!]);
  assert.match(elsewhere.said, "was planned for another workspace, ws_");
});

everywhere("a plan that was kept buries no more than one that is applied at once", async (place) => {
  const { id, repository, plan, apply, ledger, push } = await open(place, { "a.md": markdown("one") });
  const file = `${repository.path}/plan.json`;
  await apply();
  await push("a", "hotfix", "--deploy", "production");
  await repository.put({ "a.md": markdown("two") });
  const buried = "version 2 of a; version 2 that a@production serves";
  const error =
    `promptledger: Changed elsewhere, and in no commit: ${buried}. Pull it (with --live what is live), commit it ` +
    "and plan again, or apply with --force\n";
  const planned = await plan("--out", file);
  assert.is(planned.said, `Apply exactly this with: promptledger apply ${file} --force, which replaces ${buried}\n`);
  const before = await ledger();
  for (const more of [[], ["--yes"], ["--each"]]) {
    const { code, out, said } = await place.cli(["apply", file, ...more]);
    assert.equal([code, out, said], [1, "", error]);
  }
  assert.ok((await apply()).said.endsWith(error));
  const asked: string[] = [];
  const no = await place.cli(["apply", file], "", {
    ask: (question) => {
      asked.push(question);
      return Promise.resolve(false);
    },
  });
  assert.equal([no.code, no.said, asked], [1, "Nothing was changed\n", [`Apply this? It replaces ${buried}`]]);
  assert.equal(await ledger(), before);
  // What is made live after the plan is refused, whatever the options.
  await place.data(words`deploy promote a@production --version 1 --workspace ${id}`);
  const moved = await place.cli(["apply", file, "--force"]);
  const reason = "a@production is at revision 3, planned at 2";
  assert.equal([moved.code, moved.said], [1, `promptledger: Changed since it was planned: ${reason}. Plan again\n`]);
  await plan("--out", file);
  assert.is((await place.cli(["apply", file, "--force"])).code, 0);
  assert.equal(await ledger(), ["a 3", "a@production 3", "a@staging 3"]);
});

everywhere("a file that is no plan is refused with what is wrong", async (place) => {
  const { repository } = await open(place, { "bad.json": "{", "other.json": '{"workspaceId":"ws_1","prompts":{}}' });
  for (
    const [file, error] of [["bad.json", /bad\.json/], ["other.json", /prompts must be/], ["none.json", /no such/]]
  ) {
    const { code, out, said } = await place.cli(["apply", `${repository.path}/${file}`]);
    assert.equal([code, out], [1, ""]);
    assert.match(said, error as RegExp);
  }
});

everywhere("the commit and who made it stand with the version and the promotion", async (place) => {
  const { id, repository } = await open(place, { "a.md": markdown("one") });
  const env = {
    GITHUB_SHA: "0123456789abcdef0123456789abcdef01234567",
    GITHUB_ACTOR: "ada",
    GITHUB_REPOSITORY: "acme/prompts",
    GITHUB_REF: "refs/pull/7/merge",
  };
  const scope = words`apply --dir ${repository.path} --workspace ${id} --json`;
  const { code, said } = await place.cli(scope, "", { env: { ...place.env, ...env } });
  assert.is(code, 0, said);
  const [version] = await place.data<Data[]>(words`prompt versions a --workspace ${id}`);
  const [change] = await place.data<Data[]>(words`deploy history a@production --workspace ${id}`);
  for (const { origin } of [version!, change!]) {
    const { author: _, ...others } = origin! as Record<string, string>;
    assert.equal(others, {
      commit: env.GITHUB_SHA,
      repository: "https://github.com/acme/prompts",
      change: "https://github.com/acme/prompts/pull/7",
    });
  }
});

const renamed: Record<string, string> = {
  "b/a.md": `---\nwas: a\n${markdown("two").slice(4)}`,
  "b/a.json": '{"was":"a","title":"Title","messages":[{"role":"user","content":"two"}]}',
};
for (const [path, text] of Object.entries(renamed)) {
  everywhere(`a rename in ${path} keeps versions and deployments, and says so once`, async (place) => {
    const { repository, plan, apply, ledger } = await open(place, { "a.md": markdown("one") });
    await apply();
    await repository.put({ "a.md": null, [path]: text });
    assert.match(
      (await plan()).out,
      /^~ b\/a: renamed from a\n~ b\/a: version 2\n[^]*\n1 new version, 2 promotions, 1 rename\n$/,
    );
    assert.is((await apply()).code, 0);
    assert.equal(await ledger(), ["b/a 2", "b/a@production 2", "b/a@staging 2"]);
    assert.is((await plan()).out, nothing);
  });
}

everywhere("two files for one prompt are refused", async (place) => {
  const { repository, plan, apply } = await open(place, { "a.md": markdown("one") });
  await apply();
  await repository.put({ "b.md": `---\nwas: a\n${markdown("one").slice(4)}` });
  const { code, said } = await plan();
  assert.equal([code, said], [
    1,
    "promptledger: a.md and b.md are both a: apply the rename first, and then add the other file\n",
  ]);
});

everywhere("prompts in no file are archived with --prune alone, and not planned again", async (place) => {
  const { repository, plan, apply, ledger } = await open(place, { "a.md": markdown("one"), "b.md": markdown("two") });
  await apply();
  await repository.put({ "b.md": null });
  assert.match((await plan()).out, /^! b: is in no file/);
  assert.equal((await plan("--prune")).out, "- b: archive, with its deployments\n1 archived prompt\n");
  const applied = await apply("--prune");
  assert.equal([applied.code, applied.out], [0, "b is archived\n"]);
  assert.equal(await ledger(), ["a 1", "a@production 1", "a@staging 1"]);
  assert.is((await plan("--prune", "--check")).code, 0);
  await repository.put({ "b.md": markdown("two") });
  assert.match((await plan()).said, "b is archived: unarchive it, or remove b.md");
});

everywhere("a kept plan does not archive a prompt that was promoted since", async (place) => {
  const files = { "promptledger.yml": "deploy: {}\n", "a.md": markdown("one"), "b.md": markdown("two") };
  const { id, repository, plan, apply } = await open(place, files);
  await apply();
  await repository.put({ "b.md": null });
  const path = `${repository.path}.plan.json`;
  await plan("--prune", "--out", path);
  await place.data(words`deploy create --name production --prompt b --workspace ${id}`);
  const { code, said } = await place.cli(["apply", path]);
  assert.is(code, 1);
  assert.match(said, "Changed since it was planned: b@production is at revision 1, planned as new. Plan again");
});

everywhere("a plan says what looks like a rename, and how to make it one", async (place) => {
  const files = { "a.md": "Hi {{x}}", "b.md": markdown("b"), "promptledger.yml": "deploy: {}\n" };
  const { repository, plan, apply } = await open(place, files);
  await apply();
  await repository.put({ "a.md": null, "new/a.md": "Hi {{x}}", "b.md": null, "c.md": markdown("other") });
  const { out } = await plan();
  assert.match(out, "+ c: new prompt\n+ new/a: new prompt\n");
  assert.match(out, /^! a: is in no file.*\. new\/a\.md has its content: to rename it, add was: a to that file$/m);
  assert.match(out, /^! b: is in no file(?!.*rename)/m);
  assert.match(
    (await plan("--prune")).out,
    "- a: archive, with its deployments. new/a.md has its content: to rename it",
  );
  await repository.put({ "new/a.md": "---\nwas: a\n---\nHi {{x}}" });
  assert.match((await plan()).out, "~ new/a: renamed from a\n");
});

everywhere("pinned versions go where they are pinned, and --deploy chooses among deployments", async (place) => {
  const manifest = "deploy:\n  staging: latest\n  production: pinned\npinned:\n  production:\n    a: 1\n";
  const { repository, plan, apply, ledger } = await open(place, {
    "a.md": markdown("one"),
    "promptledger.yml": manifest,
  });
  await apply();
  await repository.put({ "a.md": markdown("two") });
  assert.is((await apply()).code, 0);
  assert.equal(await ledger(), ["a 2", "a@production 1", "a@staging 2"]);
  await repository.put({ "promptledger.yml": manifest.replace("a: 1", "a: 2") });
  assert.is((await plan("--deploy", "staging")).out, nothing);
  assert.is((await plan("--deploy", "production")).out, "→ a@production: 1 → 2\n1 promotion\n");
  await apply();
  assert.equal(await ledger(), ["a 2", "a@production 2", "a@staging 2"]);
  await repository.put({ "promptledger.yml": manifest.replace("a: 1", "a: 9") });
  assert.match((await plan()).said, "a@production is pinned to version 9, which does not exist");
  assert.match((await plan("--deploy", "other")).said, "--deploy other is not under deploy in promptledger.yml");
  await repository.put({ "promptledger.yml": bothLatest });
  assert.is((await plan()).out, nothing);
});

everywhere("more than 200 prompts need --each, which goes on after one that is refused", async (place) => {
  const files = Object.fromEntries(Array.from({ length: 201 }, (_, nth) => [`p${nth}.md`, markdown(`${nth}`)]));
  const { repository, plan, apply, ledger } = await open(place, { ...files, "promptledger.yml": "deploy: {}\n" });
  const error = "The plan changes 201 prompts, and a release set has at most 200: ";
  assert.is(
    (await plan()).said,
    "One transaction takes at most 200 prompts. apply --each makes the changes a prompt at a time\n",
  );
  assert.match((await apply()).said, `${error}use --each, which is not all or none`);
  assert.match((await plan("--out", `${repository.path}/plan.json`)).said, `${error}apply the folder with --each`);
  assert.equal(await ledger(), []);
  const { code, said, reports } = await apply("--each");
  assert.is(code, 0, said);
  assert.match(said, "Applied, each prompt in its own transaction\n");
  assert.ok(reports.includes("Applied 200 of 201 prompts"));
  assert.is((await ledger()).length, 201);
  assert.is((await plan()).out, nothing);
});

/** A command with a token of a role. */
async function withToken(id: string, role: string) {
  const { token } = await here.data<{ token: string }>(
    words`token create --name ${role} --role ${role} --workspace ${id}`,
  );
  return (args: string[]) => runIn([...args, "--server", url], { PROMPTLEDGER_TOKEN: token, USER: "" });
}

test("an editor plans everything and applies all but what is protected, all or none", async () => {
  const { id, repository, apply, ledger } = await open(here, { "a.md": markdown("one"), "b.md": markdown("b") });
  await apply();
  await here.data(words`deploy protect a@production --workspace ${id}`);
  await repository.put({ "a.md": markdown("two"), "b.md": markdown("b2") });
  const ann = await withToken(id, "editor"), dir = ["--dir", repository.path];
  const planned = await ann(["plan", ...dir]);
  assert.match(planned.out, "→ a@production: 1 → 2, protected\n");
  const before = await ledger();
  const refused = await ann(["apply", ...dir]);
  assert.is(refused.code, 1);
  const reason = "This needs the role publisher to change a@production, which is protected";
  const remedy =
    'For versions alone, plan with --deploy "", without --prune and renames. For the other prompts, apply with --each';
  assert.match(refused.said, `promptledger: ${reason}. ${remedy}\n`);
  assert.equal(await ledger(), before);
  const each = await ann(["apply", ...dir, "--each"]);
  assert.is(each.code, 1);
  assert.ok(each.said.endsWith(`own transaction\na: ${reason}\n`), each.said);
  assert.equal(await ledger(), before.map((line) => line.startsWith("b") ? line.replace("1", "2") : line));
  assert.is((await ann(["apply", ...dir, "--deploy", ""])).out, "a version 2\n");
  assert.is((await ann(["apply", ...dir, "--deploy", "staging"])).out, "a@staging serves version 2\n");
  assert.is((await (await withToken(id, "publisher"))(["apply", ...dir])).code, 0);
  assert.is((await ann(["plan", "--check", ...dir])).code, 0);
  await repository.put({ "b.md": null });
  const pruned = await ann(["apply", ...dir, "--prune"]);
  assert.match(pruned.said, `promptledger: This needs the role publisher to archive b. ${remedy}\n`);
});

test("a viewer plans and pulls, and applies nothing; a token of another workspace sees nothing", async () => {
  const { id, repository, apply, ledger } = await open(here, { "a.md": markdown("one") });
  await apply();
  await repository.put({ "a.md": markdown("two") });
  const viewer = await withToken(id, "viewer"), dir = ["--dir", repository.path];
  assert.is((await viewer(["plan", "--check", ...dir])).code, 3);
  const refused = await viewer(["apply", ...dir]);
  assert.equal([refused.code, refused.said.split("\n").at(-2)], [1, "promptledger: This needs the role editor"]);
  const stranger = await withToken((await open(here)).id, "admin");
  const unknown = await stranger(["apply", ...dir, "--workspace", id]);
  assert.equal([unknown.code, unknown.said], [1, `promptledger: Workspace ${id} not found\n`]);
  assert.equal(await ledger(), ["a 1", "a@production 1", "a@staging 1"]);
});

test("on a terminal apply asks before it changes what is live, and a no changes nothing", async () => {
  const { id, repository, ledger } = await open(here, { "a.md": markdown("one") });
  const asked: string[] = [];
  const run = (answer: boolean, ...more: string[]) =>
    here.cli(words`apply --dir ${repository.path} --workspace ${id} ${more}`, "", {
      ask: (question) => {
        asked.push(question);
        return Promise.resolve(answer);
      },
    });
  const no = await run(false);
  assert.equal([no.code, no.said.endsWith("Nothing was changed\n")], [1, true]);
  assert.equal([asked, await ledger()], [["Apply this? 1 new prompt, 2 promotions"], []]);
  assert.is((await run(true)).code, 0);
  await repository.put({ "a.md": markdown("two") });
  assert.is((await run(false, "--yes")).code, 0);
  assert.is(asked.length, 2);
});

everywhere("--format github prints annotations, and writes the summary of the step", async (place) => {
  const { id, repository } = await open(place, { "a.md": markdown("one") });
  const summary = `${repository.path}/summary.txt`;
  const run = () =>
    place.cli(words`plan --format github --dir ${repository.path} --workspace ${id}`, "", {
      env: { ...place.env, GITHUB_STEP_SUMMARY: summary },
    });
  const { code, out } = await run();
  assert.is(code, 0);
  assert.is(out.split("\n")[0], `::notice file=${repository.path}/a.md,line=1::+ a: new prompt`);
  assert.match(out, /\n1 new prompt, 2 promotions\n$/);
  await repository.put({ "a.md": markdown("```\nfenced\n```") });
  await run();
  const text = await readFile(summary, "utf8");
  assert.match(text, /^### Prompts: 1 new prompt, 2 promotions\n\n```diff\n\+ a: new prompt\n/);
});

everywhere("all faults of all files are told at once, each with its place, and nothing is done", async (place) => {
  const { repository, plan, apply, ledger } = await open(place, {
    "tabs.md": "---\nllmConfig:\n\tmodel: x\n---\nHi\n",
    "type.md": "---\ntitle: 7\n---\nHi\n",
    "unknown.md": "---\nmodel: x\n---\nHi\n",
    "end.md": "---\ntitle: x\nHi\n",
    "Upper.md": "Hi\n",
    "a.md": "Hi\n",
    "b.md": "---\nname: a\n---\nHi\n",
    "c.json": '{"title": "C", "messages": [{"role": "user"}',
  });
  for (const { code, said } of [await plan(), await apply()]) {
    assert.is(code, 1);
    const lines = said.replace("promptledger: ", "").replaceAll(`${repository.path}/`, "").trimEnd().split("\n");
    const places = lines.map((line) => /^[\w.]+:\d+:\d+/.exec(line)?.[0]);
    const expected = [
      "Upper.md:1:1",
      "b.md:1:1",
      "c.json:1:45",
      "end.md:1:1",
      "tabs.md:3:1",
      "type.md:2:1",
      "unknown.md:2:1",
    ];
    assert.equal(places, expected, said);
    assert.match(said, "b.md:1:1: The name a is that of a.md too\n");
  }
  assert.equal(await ledger(), []);
});

const wrongManifests: Record<string, RegExp> = {
  "deploy: { production: newest }\n": /promptledger\.yml:1:1: Field deploy\.production must be latest or pinned/,
  "deploy: { Production: latest }\n": /promptledger\.yml:1:1: Field deploy\.Production must name a deployment/,
  "folder: ../x\n": /promptledger\.yml:1:1: Field folder must be a folder beside the manifest/,
  "folder: none\n": /none is no folder\. promptledger\.yml names it/,
  "deploy:\n\tstaging: latest\n": /promptledger\.yml:2:1: /,
  "deploys: {}\n": /promptledger\.yml:1:1: Unknown field deploys\. Allowed: workspace, folder, deploy, pinned/,
  "pinned: { production: { a: 1 } }\n": /Field pinned\.production needs deploy\.production: pinned/,
  "workspace: Nobody\n": /Workspace Nobody not found/,
};

everywhere("a wrong manifest is refused with its place", async (place) => {
  for (const [manifest, error] of Object.entries(wrongManifests)) {
    const { repository } = await open(place, { "a.md": "Hi", "promptledger.yml": manifest });
    const { code, out, said } = await place.cli(["plan", "--dir", repository.path]);
    assert.equal([code, out], [1, ""]);
    assert.match(said, error);
  }
});

everywhere("a manifest names the workspace, and a folder that is missing is told", async (place) => {
  const { repository } = await open(place, { "in/a.md": "Hi" });
  await repository.put({ "promptledger.yml": `workspace: W${made - 1}\nfolder: in\n` });
  const { code, out } = await place.cli(["plan", "--dir", repository.path]);
  assert.equal([code, out], [0, "+ a: new prompt\n1 new prompt\n"]);
  const missing = await place.cli(["plan", "--dir", `${repository.path}/none`]);
  assert.equal([missing.code, missing.said], [1, `promptledger: ${repository.path}/none is no folder\n`]);
});

test("a service that is too old says so, and nothing is done", async () => {
  const { repository } = await open(here, { "a.md": markdown("one") });
  const old = createServer((_, response) => {
    response.writeHead(404, { "Content-Type": "application/json" });
    response.end('{"error":"Not found","code":"path_not_found"}');
  });
  await new Promise<void>((resolve) => old.listen(0, "127.0.0.1", resolve));
  const server = `http://127.0.0.1:${(old.address() as AddressInfo).port}`;
  const args = words`plan --dir ${repository.path} --workspace ws_1 --server ${server}`;
  const { code, said } = await runIn(args, { ADMIN_TOKEN: adminToken });
  old.close();
  assert.equal([code, said], [
    1,
    `promptledger: ${server} has no management API, or an older one without listPromptContents. Is the path of the URL ` +
    "right, and the service up to date?\n",
  ]);
});

test.run();
