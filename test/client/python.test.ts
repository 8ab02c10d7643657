// The client for Python: its own tests, by unittest, and its package. They run where python3 is installed.
// Runs on Node alone.
import { execFile } from "node:child_process";
import { cp, readdir, readFile } from "node:fs/promises";
import process from "node:process";
import { promisify } from "node:util";
import { isFull, seed, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { atOnce } from "../at-once.ts";
import { createFolder, findFreePort, startService } from "../conformance/processes.ts";
import { createSeededDatabase } from "../faults/audit.ts";
import { commandOf, pathOf } from "../runtimes.ts";

const test = suite("the client for Python");

// Its days and processes mostly wait.
const testAtOnce = atOnce(test, 3);

const tests = pathOf("test/client/python");
/** Days, processes and frameworks take their time. */
const slow = ["test_frameworks.py", "test_day.py", "test_process.py", "test_virtual_day.py"];

type Settings = Record<string, string>;

/** Runs a program, and gives all that it prints. */
async function run(program: string, args: string[], settings: Settings = {}, cwd = tests): Promise<string> {
  const env = { ...process.env, PYTHONDONTWRITEBYTECODE: "1", ...settings };
  const { stdout, stderr } = await promisify(execFile)(program, args, { cwd, env, maxBuffer: 2 ** 26 });
  return stdout + stderr;
}

/** Finds a Python that can do something, or says why there is none. Where it is required, that is an error. */
async function findPython(
  what: string,
  script: string,
  isRequired = process.env.REQUIRE_PYTHON !== undefined,
): Promise<string | undefined> {
  for (const python of ["python3", "/usr/bin/python3"]) {
    if (await run(python, ["-c", script]).then(() => true, () => false)) return python;
  }
  const missing = `${what}: no python3 that passes: ${script}`;
  if (isRequired) throw new Error(missing);
  console.log(`skipped: ${missing}`);
  return undefined;
}

const python = await findPython("the client for Python", "import sys; assert sys.version_info >= (3, 9)");

/** Other versions of Python that are there, by their names and in pyenv, with their programs. */
async function findOthers(): Promise<Map<string, string>> {
  const root = process.env.PYENV_ROOT ?? `${process.env.HOME}/.pyenv`;
  const folders = await readdir(`${root}/versions`).catch(() => []);
  const candidates = [
    ...["9", "10", "11", "12", "13", "14", "15"].map((minor) => `python3.${minor}`),
    ...folders.map((folder) => `${root}/versions/${folder}/bin/python3`),
  ];
  const script = "import sys; assert sys.version_info >= (3, 9); print('%d.%d' % sys.version_info[:2])";
  const versionOf = (program: string) => run(program, ["-c", script]).then((text) => text.trim(), () => "");
  const programs = new Map<string, string>();
  for (const candidate of candidates) programs.set(await versionOf(candidate), candidate);
  for (const tested of ["", await versionOf("python3")]) programs.delete(tested);
  return programs;
}

if (python !== undefined) {
  const files = (await readdir(tests)).filter((name) => /^test_.*\.py$/.test(name)).sort();
  // The packages of a distribution are those of its own Python.
  const framed = isFull
    ? await findPython("Python's frameworks", "import gunicorn, celery, uvicorn", false)
    : undefined;
  const quick = files.filter((file) => !slow.includes(file));
  for (const file of isFull ? [...slow, ...quick] : quick) {
    const user = file === "test_frameworks.py" && framed || python;
    testAtOnce(`passes ${file}`, async () => {
      const settings = { SEED: String(seed), PROMPTLEDGER_COMMAND: JSON.stringify(commandOf.Node("src/cli.ts")) };
      const said = await run(user, ["-m", "unittest", file.replace(/\.py$/, "")], settings);
      assert.match(said, /^Ran [1-9]\d* tests? in /m);
      const [context] = /^SEED=.*$/m.exec(said) ?? [];
      if (context !== undefined && process.env.VERBOSE !== undefined) console.log(context);
    });
  }

  // Interpreters of other versions end in other ways.
  for (const [version, other] of isFull ? await findOthers() : []) {
    testAtOnce(`passes test_leaving.py on Python ${version}`, async () => {
      assert.match(
        await run(other, ["-m", "unittest", "test_leaving"], { TEST_SCOPE: "" }),
        /^Ran [1-9]\d* tests? in /m,
      );
    });
  }

  test("gets its prompt of the service, and delivers its record as the process ends", async () => {
    const folder = await createFolder();
    try {
      const seeded = await createSeededDatabase(`file:${folder.path}/ledger.db`);
      const port = String(await findFreePort());
      const service = await startService("Node", { DATABASE_URL: seeded.url, PORT: port });
      const settings = {
        PYTHONPATH: pathOf("src/client/python/src"),
        PROMPTLEDGER_URL: service.url,
        PROMPTLEDGER_API_KEY: seeded.tenant.key,
      };
      const script = "from promptledger import Client; prompt = Client().prompt('greeting@production'); " +
        "prompt.call(session_id='order-4711').done(status=1, output=prompt.fill({'name': 'Ada'})); print(prompt.version)";
      assert.is(await run(python, ["-c", script], settings), "1\n");
      const usage = await fetch(`${service.url}/v1/usage`, {
        headers: { Authorization: `Bearer ${seeded.tenant.key}` },
      });
      assert.is((await usage.json() as { used: number }).used, 2);
      await service.stop();
    } finally {
      await folder.remove();
    }
  });
}

const builder = isFull ? await findPython("the package for Python", "import setuptools, wheel, venv, pip") : undefined;

if (builder !== undefined) {
  test.full("the package is built, and installs where nothing else is, without the network", async () => {
    const folder = await createFolder();
    try {
      const inFolder = (program: string, ...args: string[]) => run(program, args, {}, folder.path);
      const offline = ["--no-index", "--no-deps", "--no-build-isolation", "--quiet", "--disable-pip-version-check"];
      const source = `${folder.path}/source`;
      // Setuptools leaves files beside the source.
      await cp(pathOf("src/client/python"), source, { recursive: true });
      const sdist = "from setuptools.build_meta import build_sdist; build_sdist('..')";
      await run(builder, ["-c", sdist], {}, source);
      const { version } = JSON.parse(await readFile(pathOf("package.json"), "utf8"));
      await inFolder(builder, "-m", "pip", "wheel", ...offline, "--wheel-dir", "wheels", source);
      await inFolder(
        builder,
        "-m",
        "pip",
        "wheel",
        ...offline,
        "--wheel-dir",
        "again",
        `promptledger-${version}.tar.gz`,
      );
      const wheel = `promptledger-${version}-py3-none-any.whl`;
      assert.equal([await readdir(`${folder.path}/wheels`), await readdir(`${folder.path}/again`)], [[wheel], [wheel]]);

      // A pip of its own would take longer to install than all the rest.
      await inFolder(builder, "-m", "venv", "--without-pip", "fresh");
      const fresh = `${folder.path}/fresh/bin/python`;
      await inFolder(
        builder,
        "-m",
        "pip",
        "--python",
        fresh,
        "install",
        "--no-index",
        "--quiet",
        "--disable-pip-version-check",
        `again/${wheel}`,
      );
      const said = await run(fresh, ["-m", "unittest", "test_cases", "test_readme"], { PROMPTLEDGER_INSTALLED: "1" });
      assert.match(said, /^OK$/m);
      const list = "import importlib.metadata as m; print(*sorted(str(f) for f in m.files('promptledger')), sep='\\n')";
      const files = (await inFolder(fresh, "-c", list)).split("\n").filter((file) => !file.includes("__pycache__"));
      assert.ok(files.includes("promptledger/py.typed") && files.includes("promptledger/client.py"));
      assert.ok(files.some((file) => file.endsWith("/LICENSE")));
      assert.is(await inFolder(fresh, "-c", "import promptledger; print(promptledger.__version__)"), `${version}\n`);
    } finally {
      await folder.remove();
    }
  });
}

test("the package has the version and the license of the service", async () => {
  const read = (path: string) => readFile(pathOf(path), "utf8");
  const { version } = JSON.parse(await read("package.json"));
  assert.ok((await read("src/client/python/src/promptledger/version.py")).includes(`version = "${version}"`));
  assert.ok((await read("src/client/python/README.md")).includes(` promptledger-${version}-py3-none-any.whl\n`));
  assert.is(await read("src/client/python/LICENSE"), await read("LICENSE"));
});

test.run();
