// Progress on a terminal and elsewhere, and files that are created as a part first.
// Runs on every runtime.
import { lstat, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { reportOn, terminal } from "../../src/runtime/terminal.ts";
import { createFolder } from "../conformance/processes.ts";

const test = suite("terminal");

const folder = await createFolder();
test.after(() => folder.remove());

/** What reports at these times, in ms, write. */
function written(screen: { isTTY?: boolean; columns?: number }, reports: [at: number, progress: string][]): string[] {
  const texts: string[] = [];
  let now = 0;
  const report = reportOn({ ...screen, write: (text) => texts.push(text) }, () => now);
  for (const [at, progress] of reports) {
    now = at;
    report(progress);
  }
  return texts;
}

test("a terminal shows one line that is overwritten at most ten times a second, and cleared at the end", () => {
  const reports: [number, string][] = [[0, "a"], [50, "b"], [100, "long"], [150, "c"], [200, "d"], [250, ""], [
    260,
    "",
  ]];
  assert.equal(written({ isTTY: true, columns: 80 }, reports), ["\rlong", "\rd   ", "\r \r"]);
});

test("a line is no longer than the terminal is wide", () => {
  assert.equal(written({ isTTY: true, columns: 5 }, [[0, "a"], [100, "abcdefgh"]]), ["\rabcd"]);
});

test("a terminal of unknown width counts as 80 columns", () => {
  assert.equal(written({ isTTY: true, columns: 0 }, [[0, "a"], [100, "abcd"]]), ["\rabcd"]);
});

test("elsewhere progress is a line every 10 s, and quick work shows none", () => {
  assert.equal(written({}, [[0, "a"], [9_000, "b"], [9_500, ""]]), []);
  const reports: [number, string][] = [[0, "a"], [10_000, "b"], [15_000, "c"], [20_000, "d"], [20_001, ""]];
  assert.equal(written({}, reports), ["b\n", "d\n"]);
});

const options = { force: false };

test("a new file gets its name when it is complete, and only its owner may read it", async () => {
  const path = `${folder.path}/new.txt`;
  const file = await terminal.create(path, options);
  await file.write("שלום ");
  await file.write("👋\n");
  assert.equal(await readdir(folder.path), ["new.txt.part"]);
  await file.finish();
  assert.is(await readFile(path, "utf8"), "שלום 👋\n");
  assert.equal(await readdir(folder.path), ["new.txt"]);
  assert.is((await stat(path)).mode & 0o777, 0o600);
});

const create = (path: string, force = false) =>
  terminal.create(path, { force }).then(() => "nothing was refused", (error: Error) => error.message);

test("an existing file is replaced only by force, even if it appeared meanwhile", async () => {
  const path = `${folder.path}/old.txt`;
  const late = await terminal.create(path, options);
  await late.write("late");
  await writeFile(path, "old");
  await late.finish().then(
    () => assert.unreachable(),
    (error: Error) => assert.match(error.message, "cannot be written"),
  );
  assert.is(await readFile(path, "utf8"), "old");
  await rm(`${path}.part`);
  assert.is(await create(path), `${path} already exists; use --force to replace it`);
  const file = await terminal.create(path, { force: true });
  await file.write("new");
  await file.finish();
  assert.is(await readFile(path, "utf8"), "new");
});

test("a link with the name of the part is never followed, and a dangling link is not a free name", async () => {
  const path = `${folder.path}/records.csv`, victim = `${folder.path}/victim`;
  await writeFile(victim, "precious");
  await symlink(victim, `${path}.part`);
  assert.match(await create(path), `${path}.part already exists; remove it if nothing is writing to it`);
  const file = await terminal.create(path, { force: true });
  await file.write("new");
  await file.finish();
  assert.equal([await readFile(path, "utf8"), await readFile(victim, "utf8")], ["new", "precious"]);
  await symlink(`${folder.path}/nowhere`, `${folder.path}/dangling`);
  assert.match(await create(`${folder.path}/dangling`), "already exists");
});

test("a link stays a link, and a private file private, when they are replaced", async () => {
  const path = `${folder.path}/private.txt`, link = `${folder.path}/link`;
  await writeFile(path, "old", { mode: 0o600 });
  await symlink(path, link);
  const file = await terminal.create(link, { force: true });
  await file.write("new");
  await file.finish();
  assert.is(await readFile(path, "utf8"), "new");
  assert.is((await stat(path)).mode & 0o777, 0o600);
  assert.ok((await lstat(link)).isSymbolicLink());
});

test("what is not a regular file is written to, and never replaced", async () => {
  // A folder stands for devices, which a test must not touch. Neither is ever replaced.
  const path = `${folder.path}/folder`;
  await mkdir(path);
  for (const force of [false, true]) assert.match(await create(path, force), "folder cannot be written: ");
  assert.ok((await stat(path)).isDirectory());
  assert.not.ok((await readdir(folder.path)).includes("folder.part"));
});

test("a file that cannot be created is an error", async () => {
  assert.match(await create(`${folder.path}/no/such`), /no\/such cannot be written: /);
});

test.run();
