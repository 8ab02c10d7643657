// `types` and `bundle` on the command line.
// Runs on Node alone.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createClient } from "../../src/client/index.ts";
import { promptFile } from "../helpers.ts";
import { openPlaces, words } from "./places.ts";
import type { Place } from "./places.ts";

const test = suite("types and bundle on the command line");

const { here, everywhere, folder } = await openPlaces(test);

/** Writes a folder of prompts. Returns its path. */
async function write(name: string, files: Record<string, string>): Promise<string> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(`${folder}/${name}/${path}`), { recursive: true });
    await writeFile(`${folder}/${name}/${path}`, text);
  }
  return `${folder}/${name}`;
}

const manifest =
  "workspace: Acme\ndeploy: { staging: latest, production: pinned }\npinned: { production: { greeting: 4 } }\n";
const greeting = "---\ntitle: Greeting\nllmConfig: { model: small }\n---\n# system\nGreet {{name}}\n";

const references = (text: string) => Array.from(text.matchAll(/^ {2}"(.+)": \{$/gm), ([, reference]) => reference);

test("types describes each prompt of a folder under each deployment of its manifest", async () => {
  const dir = await write("described", { "promptledger.yml": manifest, "prompts/greeting.md": greeting });
  const { code, out } = await here.cli(words`types --dir ${dir}`);
  assert.equal([code, references(out)], [0, ["greeting@production", "greeting@staging"]]);
  assert.match(out, 'variables: "name";');
  const python = await here.cli(words`types --dir ${dir} --language python`);
  assert.match(python.out, 'GreetingStaging = TypedDict("GreetingStaging", {\n    "name": Value,\n})');
});

test("types and bundle have only what is pinned of a deployment that is pinned", async () => {
  const other = greeting.replace("{{name}}", "{{shop}}");
  const files = { "promptledger.yml": manifest, "prompts/greeting.md": greeting, "prompts/legal/p1.md": other };
  const dir = await write("pinned", files);
  const expected = ["greeting@production", "greeting@staging", "legal/p1@staging"];
  assert.equal(references((await here.cli(words`types --dir ${dir}`)).out), expected);
  const { out } = await here.cli(words`types --dir ${dir} --language python`);
  assert.not.match(out, "legal/p1@production");
  const bundle = (await here.cli(words`bundle --dir ${dir}`)).out;
  assert.ok(bundle.includes("legal/p1@staging") && !bundle.includes("legal/p1@production"));
  const none = await write("unpinned", { ...files, "promptledger.yml": "deploy: { production: pinned }\n" });
  assert.equal(references((await here.cli(words`types --dir ${none}`)).out), []);
});

test("types needs deployments in the manifest, and files without faults", async () => {
  const without = await write("without", { "greeting.md": greeting });
  const { code, said } = await here.cli(words`types --dir ${without}`);
  assert.equal([code, said.includes("promptledger.yml names no deployment under deploy")], [1, true], said);
  const faulty = await write("faulty", { "promptledger.yml": manifest, "prompts/a.md": "---\ntitle: [\n---\n" });
  for (const command of ["types", "bundle"]) {
    const refused = await here.cli(words`${command} --dir ${faulty}`);
    assert.equal([refused.code, refused.out], [1, ""]);
    assert.match(refused.said, "prompts/a.md:");
  }
});

for (const command of ["types", "types --language python", "bundle"]) {
  test(`${command} --check exits with 3 while the file is missing or behind, and writes nothing`, async () => {
    const dir = await write(command, { "promptledger.yml": manifest, "prompts/greeting.md": greeting });
    const out = `${dir}/written`,
      run = (...more: string[]) => here.cli([...words`${command.split(" ")} --dir ${dir}`, ...more]);
    const missing = await run("--out", out, "--check");
    assert.equal([missing.code, missing.said], [3, `${out} is behind: write it again\n`]);
    const written = await run("--out", out);
    assert.equal([written.code, written.said], [0, `Wrote 2 references to ${out}\n`]);
    const fresh = await run("--out", out, "--check");
    assert.equal([fresh.code, fresh.said], [0, `${out} is up to date\n`]);
    const before = await readFile(out, "utf8");
    assert.is((await run()).out, before);
    await writeFile(`${dir}/prompts/greeting.md`, `${greeting}Also {{shop}}\n`);
    assert.is((await run("--out", out, "--check")).code, 3);
    assert.is(await readFile(out, "utf8"), before);
    const unnamed = await run("--check");
    assert.equal([unnamed.code, unnamed.said], [1, "promptledger: --check needs --out FILE, which it compares\n"]);
  });
}

/** Reads a prompt of a bundle without a service. */
async function readOffline(path: string, deployId: string) {
  const fetch = () => Promise.reject(new TypeError("fetch failed"));
  const client = createClient({ apiKey: null, fetch, retries: 0, snapshot: path });
  client.on("error", () => {});
  const { source, version, messages } = await client.prompt(deployId);
  await client.close();
  return [source, version, messages];
}

test("a client reads a bundle of a folder offline. Its versions are unknown, those that are pinned too", async () => {
  const dir = await write("bundled", { "promptledger.yml": manifest, "prompts/greeting.md": greeting });
  await here.cli(words`bundle --dir ${dir} --out ${dir}/bundle.json`);
  for (const reference of ["greeting@staging", "greeting@production"]) {
    const expected = ["snapshot", 0, [{ role: "system", content: "Greet {{name}}" }]];
    assert.equal(await readOffline(`${dir}/bundle.json`, reference), expected);
  }
});

/** A workspace with a deployment that is off and one that is archived beside that which serves. */
async function setUpThree({ data, setUp }: Place) {
  const made = await setUp();
  const { workspaceId, promptId } = made;
  for (const [name, change] of [["paused", "deactivate"], ["old", "archive"]]) {
    const { id } = await data<{ id: string }>(
      words`deploy create --workspace ${workspaceId} --name ${name!} --prompt ${promptId}`,
    );
    await data(words`deploy ${change!} ${id}`);
  }
  return made;
}

everywhere("types live describes what deployments serve, those that are off too", async (place) => {
  const { workspaceId, promptId, deployId } = await setUpThree(place);
  const run = async () => {
    const { code, out, said } = await place.cli(words`types live --workspace ${workspaceId}`);
    assert.is(code, 0, said);
    return out;
  };
  const before = await run();
  assert.equal(references(before), ["greeting@paused", "greeting@production"]);
  const messages = [{ role: "user", content: "{{other}}" }];
  await place.data(
    words`prompt push - --workspace ${workspaceId} --prompt ${promptId}`,
    JSON.stringify({ ...promptFile, messages }),
  );
  assert.is(await run(), before);
  await place.data(words`deploy promote ${deployId} --version 2`);
  assert.match(await run(), '"greeting@production": {\n    variables: "other";');
});

everywhere(
  "a client reads what bundle live wrote by reference and by id. Deployments that are off are not in it",
  async (place) => {
    const { workspaceId, deployId } = await setUpThree(place);
    const out = `${folder}/${workspaceId}.json`;
    const { said } = await place.cli(words`bundle live --workspace ${workspaceId} --out ${out}`);
    assert.is(said, `Wrote 1 reference to ${out}\n`);
    assert.is((await place.cli(words`bundle live --workspace ${workspaceId} --out ${out} --check`)).code, 0);
    for (const name of ["greeting@production", deployId]) {
      assert.equal(await readOffline(out, name), ["snapshot", 1, promptFile.messages]);
    }
    const { entries } = JSON.parse(await readFile(out, "utf8"));
    assert.equal(Object.keys(entries), ["greeting@production", deployId]);
  },
);

test.run();
