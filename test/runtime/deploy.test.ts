// The files for systemd and containers fit the package, its settings and each other.
// Runs on Node alone.
import { spawn } from "node:child_process";
import { readFile, stat } from "node:fs/promises";
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import process from "node:process";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { readConfig } from "../../src/runtime/settings/config.ts";
import { createFolder, startService } from "../conformance/processes.ts";
import { nodeVersions } from "../node-versions.ts";
import { currentRuntime, pathOf } from "../runtimes.ts";

const test = suite("deploy");

// The files run Node, whatever runs the tests.
if (currentRuntime === "Node") {
  const read = (file: string) => readFile(pathOf(file), "utf8");
  const manifest = JSON.parse(await read("package.json"));
  const linesOf = async (file: string) => (await read(`src/deploy/${file}`)).split("\n").filter(isContent);

  /** `NAME=value` of the unit, in order. */
  const unit = (await linesOf("promptledger.service")).flatMap((line) => {
    const [, name, value] = /^(\w+)=(.*)$/.exec(line) ?? [];
    return name === undefined ? [] : [[name, value!] as const];
  });
  const unitValues = (name: string) => unit.filter(([other]) => other === name).map(([, value]) => value);

  const steps = (await linesOf("Containerfile")).join("\n").replaceAll(/\\\n\s*/g, "").split("\n").map((line) => {
    const [, name, value] = /^([A-Z]+) (.*)$/.exec(line)!;
    return [name!, value!] as const;
  });
  const stepValues = (name: string) => steps.filter(([other]) => other === name).map(([, value]) => value);
  const healthCheck: string[] = JSON.parse(stepValues("HEALTHCHECK")[0]!.replace(/^.*? CMD /, ""));

  /** Reads settings. Each must be known and valid. */
  const configOf = (assignments: string[]) => {
    const env = Object.fromEntries(assignments.map((text) => [text.split("=")[0], text.slice(text.indexOf("=") + 1)]));
    const known = new Set<string | symbol>();
    const config = readConfig(new Proxy(env, { get: (target, name: string) => (known.add(name), target[name]) }));
    for (const name of Object.keys(env)) assert.ok(known.has(name), name);
    return config;
  };

  test("the container is built from existing files, and needs no others", async () => {
    const sources = stepValues("COPY").filter((value) => !value.startsWith("--from=")).flatMap((value) =>
      value.split(" ").slice(0, -1)
    );
    for (const source of sources) assert.ok(await stat(pathOf(source)), source);
    const [all, ...kept] = await linesOf("Containerfile.dockerignore");
    assert.is(all, "*");
    assert.equal(kept.sort(), sources.map((source) => `!${source}`).sort());
    // The container leaves out the documents of tests and those of the repository, which are in the package for its readers.
    const packed = manifest.files.map((file: string) => file.split("/")[0])
      .filter((name: string) => !["dist", "test"].includes(name) && !name.endsWith(".md"));
    for (const name of packed) assert.ok(sources.includes(name), name);
    const { extends: base } = JSON.parse(await read("src/tsconfig.build.json"));
    assert.ok(sources.includes(base.replace("../", "")), base);
    assert.ok("prepack" in manifest.scripts);
  });

  test("the dependencies of the image run no install scripts", async () => {
    type Packages = Record<string, { dev?: true; hasInstallScript?: true }>;
    const { packages }: { packages: Packages } = JSON.parse(await read("package-lock.json"));
    const names = Object.keys(packages).filter((name) => !packages[name]!.dev && packages[name]!.hasInstallScript);
    assert.equal(names, []);
  });

  test("the image has the newest Node that CI tests, with glibc, and labels", () => {
    const newest = nodeVersions.at(-1)!.replace("node", "");
    for (const image of stepValues("FROM")) {
      assert.is(/node:(\d+)-bookworm-slim( |$)/.exec(image)?.[1], newest, image);
    }
    const labels = Array.from(stepValues("LABEL")[0]!.matchAll(/image\.(\w+)="([^"]*)"/g), (match) => match.slice(1));
    assert.equal(Object.fromEntries(labels), {
      title: manifest.name,
      description: manifest.description,
      licenses: manifest.license,
    });
  });

  test("both serve with the package's command, and pass signals on", () => {
    const [name, file] = Object.entries(manifest.bin)[0]!;
    assert.equal(unitValues("ExecStart"), [`${name} serve`]);
    assert.equal([stepValues("ENTRYPOINT"), stepValues("CMD")], [[`["${name}"]`], ['["serve"]']]);
    // npm makes a command executable when it installs it, not when it packs it.
    for (const step of [`chmod a+x ${file}`, `ln -s /app/${file} /usr/local/bin/${name}`]) {
      assert.ok(stepValues("RUN").flatMap((commands) => commands.split(" && ")).includes(step), step);
    }
    assert.equal([unitValues("KillSignal"), stepValues("STOPSIGNAL")], [["SIGTERM"], ["SIGTERM"]]);
  });

  test("the unit has valid settings, and waits until the service has stopped", () => {
    const { database, shutdownTimeout } = configOf(unitValues("Environment"));
    assert.is(database.url, `file:/var/lib/${unitValues("StateDirectory")}/promptledger.db`);
    assert.ok(1000 * Number(unitValues("TimeoutStopSec")) > shutdownTimeout);
    assert.ok(Number(unitValues("LimitNOFILE")) > 10_000);
  });

  test("the image has valid settings, listens where it can be reached, and stops before it is killed", () => {
    const { database, host, port, shutdownTimeout } = configOf(stepValues("ENV").flatMap((value) => value.split(" ")));
    const [volume] = stepValues("VOLUME");
    assert.is(database.url, `file:${volume}/promptledger.db`);
    assert.is(stepValues("WORKDIR").at(-1), volume);
    assert.equal([host, stepValues("EXPOSE")], ["0.0.0.0", [String(port)]]);
    assert.ok(shutdownTimeout < 10_000);
  });

  test("neither runs as root, and both may compile JavaScript", () => {
    const [, user, group] = /^(\d+):(\d+)$/.exec(stepValues("USER").at(-1)!)!;
    assert.ok(Number(user) > 0 && Number(group) > 0);
    assert.ok(stepValues("RUN").some((command) => command.endsWith(`-o ${user} -g ${group} ${stepValues("VOLUME")}`)));
    assert.equal(unitValues("DynamicUser"), ["yes"]);
    assert.equal(unitValues("MemoryDenyWriteExecute"), []);
  });

  /** The exit code of the container's health check, which fails after 3 s, or after another time. */
  const checkHealth = (port: string, timeoutMs = 120_000) =>
    new Promise<number | null>((resolve, reject) => {
      const [command, option, script] = healthCheck as [string, string, string];
      assert.match(script, "timeout(3000)");
      const args = [option, script.replace("timeout(3000)", `timeout(${timeoutMs})`)];
      const child = spawn(command, args, { env: { PATH: process.env.PATH, PORT: port }, stdio: "ignore" });
      child.once("error", reject).once("close", resolve);
    });

  test("the container's health check passes for a service, and fails for a closed port, an error or silence", async () => {
    const folder = await createFolder();
    const service = await startService("Node", { DATABASE_URL: `file:${folder.path}/ledger.db` });
    const server = createServer(({ url }, response) => void (url === "/healthz" && response.writeHead(503).end()));
    const silent = createServer(() => {});
    try {
      const portOf = async (server: Server) => {
        await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
        return String((server.address() as AddressInfo).port);
      };
      const { port } = new URL(service.url);
      assert.is(await checkHealth(port), 0);
      assert.is(await checkHealth(await portOf(server)), 1);
      assert.is(await checkHealth(await portOf(silent), 100), 1);
      assert.is(await service.stop(), 0);
      assert.is(await checkHealth(port), 1);
    } finally {
      await service.stop("SIGKILL");
      for (const each of [server, silent]) each.close().closeAllConnections();
      await folder.remove();
    }
  });
}

function isContent(line: string): boolean {
  return !line.startsWith("#") && line !== "";
}

test.run();
