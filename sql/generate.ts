// `npm run generate`: writes what is derived from other files and checked in, so that bundlers and runtimes without a file
// system have it too. `npm run check` fails when any of it is behind.
import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import process from "node:process";
import { withBounds } from "./bounds.ts";
import { operationsTable } from "./operations.ts";
import { shapesModule } from "./shapes.ts";

const root = new URL("..", import.meta.url);
const readText = (path: string) => readFile(new URL(path, root), "utf8");

/** The text as a template literal, so that a change of a migration reads as one in the generated file too. */
const literal = (text: string) => `\`${text.replace(/[\\`]|\$\{/g, "\\$&")}\``;

async function migrationsModule(): Promise<string> {
  const files = (await readdir(new URL("sql/", root))).filter((file) => /^\d{3}-.+\.sql$/.test(file)).sort();
  const entries = await Promise.all(files.map(async (file) => {
    const sql = await readText(`sql/${file}`);
    const checksum = createHash("sha256").update(sql).digest("hex");
    const name = file.replace(/\.sql$/, "");
    return { name, text: `  {\n    name: "${name}",\n    checksum: "${checksum}",\n    sql: ${literal(sql)},\n  },\n` };
  }));
  const made = Array.from(
    (await Promise.all(files.map((file) => readText(`sql/${file}`)))).join("\n").matchAll(
      /^create trigger (\w+) [^]*?(?=;[ \t]*$)/gm,
    ),
    ([sql, name]) => [name!, sql.replace(/^create trigger /, "")] as const,
  );
  const triggers = [...new Map(made)].map(([name, sql]) => `  ${name}: ${literal(sql)},\n`);
  return [
    "// Generated from sql/ by `npm run generate`; edit the files there.\n",
    "// deno-fmt-ignore-file\n",
    'import type { Migration } from "./migrate.ts";\n\n',
    "/** The name of the last one, for modules that need no SQL. */\n",
    `export const latestMigration = "${entries.at(-1)!.name}";\n\n`,
    "/** The triggers of a database, as SQLite keeps their texts, by name. */\n",
    `export const triggers: Readonly<Record<string, string>> = {\n${triggers.join("")}};\n\n`,
    "/** All migrations, in order. */\n",
    `export const migrations: readonly Migration[] = [\n${entries.map(({ text }) => text).join("")}];\n`,
  ].join("");
}

async function versionModule(): Promise<string> {
  const { version } = JSON.parse(await readText("package.json"));
  return `// Generated from package.json by \`npm run generate\`.\n\n/** The version of this package. */\nexport const version = "${version}";\n`;
}

/** A style or a script without what browsers need not load: indentation, and comments, of a script those of types and on lines of their own. */
function shortened(file: string, text: string): string {
  if (!file.endsWith(".css")) {
    const code = text.replace(/^\s*(\/\/.*|\/\*.*\*\/)\n/gm, "").replace(/^\s+/gm, "");
    return code.replace(/\/\*\* @type .*? \*\/ (?:\(([\w.]+)\))?/g, "$1");
  }
  const rules = text.replace(/\/\*.*?\*\/\n*/gs, "").replace(/^\s+/gm, "").replace(/^([\w-]+): /gm, "$1:");
  return rules.replace(/ \{$/gm, "{").replace(/([{;,])\n/g, "$1").replace(/;\}\n*/g, "}").replace(/\b0(?=\.\d)/g, "")
    .replace(/, /g, ",").replace(
      / > /g,
      ">",
    );
}

/** Gives custom properties names of a letter or two. They have the same in all styles, because some declare what others use. */
function withShortNames(styles: string[]): (text: string) => string {
  const found = [...new Set(styles.join("").match(/--[a-z][\w-]*/g))];
  const nameOf = (index: number) => `--${(index + 10).toString(36)}`;
  const names = new Map(found.map((name, index) => [name, nameOf(index)]));
  return (text) => text.replace(/--[a-z][\w-]*/g, (name) => names.get(name)!);
}

/** The assets of the console. Their addresses have the beginning of their hash. */
async function assetsModule(): Promise<string> {
  const all = await readdir(new URL("src/console/assets/", root));
  const files = all.filter((file) => /\.(css|js|svg)$/.test(file)).sort();
  const texts = await Promise.all(
    files.map(async (file) => shortened(file, await readText(`src/console/assets/${file}`))),
  );
  const isStyle = (_: unknown, index: number) => files[index]!.endsWith(".css");
  const shorten = withShortNames(texts.filter(isStyle));
  const entries = files.map((file, index) => {
    const text = isStyle(file, index) ? shorten(texts[index]!) : texts[index]!;
    const hash = createHash("sha256").update(text).digest("hex").slice(0, 16);
    return `  "${file}": {\n    hash: "${hash}",\n    text: ${literal(text)},\n  },\n`;
  });
  return [
    "// Generated from the files in assets/ by `npm run generate`; edit those.\n",
    "// deno-fmt-ignore-file\n\n",
    "/** The files that pages link to, by name. */\n",
    `export const assets = {\n${entries.join("")}} as const;\n`,
  ].join("");
}

/** The generated files by their path in the repository, and what makes each. */
export const generated: Record<string, () => Promise<string>> = {
  "src/database/migrations.ts": migrationsModule,
  "src/common/version.ts": versionModule,
  "src/console/frame/assets.ts": assetsModule,
  // deno-lint-ignore require-await -- a generator returns a promise
  "src/schema/shapes.ts": async () => shapesModule(),
  "src/deploy/README.md": async () => await withBounds(await readText("src/deploy/README.md")),
  // deno-lint-ignore require-await -- a generator returns a promise
  "src/management/operations.md": async () => operationsTable(),
};

if (process.argv[1]?.endsWith("generate.ts")) {
  for (const [path, generate] of Object.entries(generated)) await writeFile(new URL(path, root), await generate());
}
