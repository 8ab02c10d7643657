// The house rules that a compiler does not hold: what a file may import, and what may stand in it.
// Runs on Node alone.
import { readdir, readFile } from "node:fs/promises";
import { suite } from "./suite.ts";
import * as assert from "uvu/assert";
import { pathOf } from "./runtimes.ts";

const test = suite("layers");

const readme = await readFile(pathOf("src/README.md"), "utf8");

/** The rooms of src/README.md from the top of its list: folders, and entries of the package. A room imports those above it. */
const rooms = Array.from(readme.matchAll(/^\| `([\w./-]+)` +\| *(core)? *\|/gm), ([, path, mark]) => (
  { path: path!, isCore: mark === "core" }
));

const maxFiles = 24; // in a room

const files = (await readdir(pathOf("src"), { recursive: true, withFileTypes: true }))
  .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
  .map((entry) => `${entry.parentPath}/${entry.name}`.slice(pathOf("src/").length))
  .sort();

const sources = new Map(
  await Promise.all(
    files.map(async (file) => [file, await readFile(pathOf(`src/${file}`), "utf8")] as const),
  ),
);

const roomOf = (file: string): string => file.slice(0, file.lastIndexOf("/") + 1) || file;
const floorOf = (file: string): number => rooms.findIndex(({ path }) => path === roomOf(file));

/** What each file imports: files of ours by their path in src, packages by name. */
const imports = new Map(Array.from(sources, ([file, source]) => {
  const pattern = /^(?:import|export)\b[^;]*?from "([^"]+)"|\bimport\("([^"]+)"\)/gm;
  const names = Array.from(source.matchAll(pattern), ([, fixed, dynamic]) => {
    const name = (fixed ?? dynamic)!;
    return name.startsWith(".") ? new URL(name, `file:///${file}`).pathname.slice(1) : name;
  });
  return [file, names];
}));
const importsOf = (file: string): string[] => imports.get(file)!;

test("every file is in a room, and a room has a few of them", () => {
  assert.ok(files.length > 40);
  assert.equal(files.filter((file) => floorOf(file) < 0), []);
  for (const { path } of rooms) {
    const count = files.filter((file) => roomOf(file) === path).length;
    assert.ok(count >= 1 && count <= maxFiles, `${path}: ${count} files`);
  }
});

test("a file imports only files of its own room and of those above it", () => {
  for (const file of files) {
    for (const imported of importsOf(file).filter((name) => sources.has(name))) {
      assert.ok(floorOf(imported) <= floorOf(file), `${file} imports ${imported}`);
    }
  }
});

test("no import goes in a circle", () => {
  const visited = new Set<string>();
  const visit = (file: string, path: string[]): void => {
    assert.not.ok(path.includes(file), [...path, file].join(" → "));
    if (visited.has(file)) return;
    visited.add(file);
    for (const imported of importsOf(file).filter((name) => sources.has(name))) visit(imported, [...path, file]);
  };
  for (const file of files) visit(file, []);
});

test("the client imports nothing but itself, and what it shares with the service", () => {
  const own = files.filter((file) => file.startsWith("client/"));
  const others = own.flatMap(importsOf).filter((name) => !own.includes(name));
  assert.equal([...new Set(others)].sort(), [
    "common/ids.ts",
    "node:fs/promises",
    "schema/shapes.ts",
    "support/feedback-token.ts",
    "support/template.ts",
  ]);
});

const soleImporters: [packageName: string, ...importers: string[]][] = [
  ["@libsql/client/http", "database/client.ts"],
  ["libsql", "database/file/driver.ts"],
  ["itty-router", "http/router.ts"],
  ["jose", "faces/sign-in/provider-keys.ts"],
  ["oauth4webapi", "faces/sign-in/identity-provider.ts"],
  ["superstruct", "schema/struct.ts"],
  ["@hono/node-server", "runtime/node-handler.ts"],
  ["yaml", "files/formats/edit-members.ts", "files/formats/yaml.ts"],
  ["aws4fetch", "runtime/backups/s3.ts"],
  ["age-encryption", "runtime/backups/backup-encryption.ts"],
  ["@scure/base", "runtime/backups/backup-key.ts"],
  ["diff", "management/prompts/prompt-text.ts"],
  ["d3-scale", "console/frame/chart.tsx"],
  ["d3-shape", "console/frame/chart.tsx"],
];

for (const [packageName, ...importers] of soleImporters) {
  test(`only ${importers.join(" and ")} imports ${packageName}`, () => {
    assert.equal(files.filter((file) => importsOf(file).includes(packageName)), importers);
  });
}

/** What opens files where there are files. */
const withFiles = [
  "client/snapshot.ts",
  "database/file/checkpoints.ts",
  "database/file/driver.ts",
  "database/file/file-claim.ts",
  "database/file/file-identity.ts",
  "database/file/file-log.ts",
  "database/file/file.ts",
  "database/file/held-files.ts",
  "database/file/node-send.ts",
  "database/file/open-migrated.ts",
  "database/file/open.ts",
  "database/file/promptledger-reader.ts",
  "database/file/snapshot.ts",
  "database/file/thread.ts",
];

test("no runtime is named outside of src/runtime, but by what opens files", () => {
  for (const file of files.filter((file) => !file.startsWith("runtime/") && !withFiles.includes(file))) {
    assert.not.match(
      sources.get(file)!,
      /"node:|\bprocess\.|\bBuffer\b|\bBun\.|\bDeno\.|__dirname|\brequire\(/,
      file,
    );
  }
});

/** These files, and the files and packages that they import in turn, types too. */
function reachedFrom(...entries: string[]): Set<string> {
  const reached = new Set<string>();
  const visit = (name: string): void => {
    if (reached.has(name)) return;
    reached.add(name);
    if (sources.has(name)) importsOf(name).forEach(visit);
  };
  entries.forEach(visit);
  return reached;
}

test("the rooms of the core are what createService imports, types too, and nothing else", () => {
  const reached = reachedFrom("service/service.ts", "database/client.ts", "database/migrations.ts");
  const core = new Set(rooms.filter(({ isCore }) => isCore).map(({ path }) => path));
  assert.equal([...reached].filter((name) => sources.has(name)).sort(), files.filter((file) => core.has(roomOf(file))));
  const [, count] = /^\*\*The core\*\* [^.]*: (\d+) files/m.exec(readme) ?? [];
  assert.is(Number(count), files.filter((file) => core.has(roomOf(file))).length);
  const worker = [...reachedFrom("runtime/workers.ts")].filter((name) => sources.has(name) && !reached.has(name));
  assert.equal(worker.filter((file) => !/^(runtime|client|support)\//.test(file)), []);
});

test("what a Worker imports needs no file system and no process", () => {
  const reached = reachedFrom("worker.ts");
  assert.ok(reached.has("ledger/ledger.ts"));
  assert.equal([...reached].filter((name) => name.startsWith("node:")), []);
  assert.not.ok(reached.has("database/file/file.ts"));
});

/** The files and the packages that these files load as they start: what they import, but nothing that they load later. */
function loadedBy(...entries: string[]): Set<string> {
  const reached = new Set<string>();
  const visit = (file: string): void => {
    reached.add(file);
    for (const [, name] of (sources.get(file) ?? "").matchAll(/^(?:import|export)\b(?! type)[^;]*?from "([^"]+)"/gm)) {
      const imported = name!.startsWith(".") ? new URL(name!, `file:///${file}`).pathname.slice(1) : name!;
      if (!reached.has(imported)) visit(imported);
    }
  };
  for (const file of entries) visit(file);
  return reached;
}

const starts = ["cli.ts", "runtime/serving/serve.ts", "runtime/serving/boot.ts", "runtime/demo/demo.ts"];

test("what serves, and the command line, load MCP only once it is on", () => {
  const loaded = loadedBy(...starts);
  assert.ok(loaded.has("console/face.ts") && loaded.has("cli/service/mcp.ts"));
  assert.equal([...loaded].filter((file) => file.startsWith("mcp/")), []);
});

test("the native driver is loaded only where a file is opened", () => {
  const loaded = loadedBy(...starts, "index.ts", "migrate.ts", "testing.ts");
  assert.ok(loaded.has("database/file/file.ts"));
  assert.not.ok(loaded.has("libsql"));
});

test("what signs people in is loaded only with the first who comes so", () => {
  const loaded = loadedBy(...starts, "worker.ts", "index.ts", "management.ts", "console.ts");
  assert.ok(loaded.has("faces/sign-in/people.ts") && loaded.has("itty-router"));
  assert.equal([loaded.has("jose"), loaded.has("oauth4webapi")], [false, false]);
  assert.ok(
    loadedBy("faces/sign-in/signed-header.ts").has("jose") &&
      loadedBy("faces/sign-in/identity-provider.ts").has("oauth4webapi"),
  );
});

test("only http/respond.ts knows status codes, and only errors.ts the texts of refusals", () => {
  for (const file of files.filter((file) => file.startsWith("http/"))) {
    const code = sources.get(file)!.replace(/^\s*(\/\/|\*|\/\*).*$/gm, "");
    if (file !== "http/respond.ts") assert.not.match(code, /\b(20[01]|4\d\d|500)\b/, file);
    // Options of an embedder are refused in the words of the settings.
    if (file !== "http/settings.ts") assert.not.match(code, /new Refusal|\binvalid\(/, file);
  }
});

test("no class but error types, no any, and nothing left to do", () => {
  for (const [file, source] of sources) {
    const classes = source.match(/^(export )?(abstract )?class /gm)?.length ?? 0;
    assert.is(classes, { "common/errors.ts": 1, "client/errors.ts": 7 }[file] ?? 0, file);
    assert.not.match(source, /: any\b|<any\b|as any\b|any\[\]/, file);
    assert.not.match(source, /\b(TODO|FIXME|XXX)\b/, file);
  }
});

test("a file opens by saying what lives in it, and is at most 450 lines long", () => {
  for (const [file, source] of sources) {
    assert.match(source, /^(#!.*\n)?\/\/ [A-Z`]/, file);
    if (!["database/migrations.ts", "console/frame/assets.ts"].includes(file)) {
      assert.ok(source.split("\n").length <= 450, file);
    }
  }
});

test("a file with JSX names what makes its elements, so that it works in any folder", () => {
  for (const [file, source] of sources) {
    const isNamed = source.includes("\n/** @jsxRuntime classic */\n/** @jsx h */\n/** @jsxFrag Fragment */\n");
    assert.is(isNamed, file.endsWith(".tsx"), file);
  }
});

test.run();
