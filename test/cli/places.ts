// Where the command line runs in tests: on a local database, and on a service of the same database.
import { readFile } from "node:fs/promises";
import type { Test } from "uvu";
import { run } from "../../src/cli/run.ts";
import { terminal as realTerminal } from "../../src/runtime/terminal.ts";
import type { Terminal } from "../../src/runtime/terminal.ts";
import { createFolder, startService } from "../conformance/processes.ts";
import { readAnswer } from "../helpers.ts";
import type { Answer } from "../helpers.ts";
import { adminToken, promptFile } from "../helpers.ts";
import { currentRuntime } from "../runtimes.ts";
import { isFull } from "../suite.ts";

export type Result = { code: number; out: string; said: string; reports: string[]; json: unknown };

/** The words of a command as typed. An inserted text is part of one word, whatever it contains. A list is several words. */
export const words = (texts: TemplateStringsArray, ...values: (string | string[])[]): string[] =>
  texts.map((text, index) => index === 0 ? text : `\0${index - 1}\0${text}`).join("").split(" ").flatMap((word) => {
    const [, whole] = /^\0(\d+)\0$/.exec(word) ?? [];
    return whole === undefined ? word.replace(/\0(\d+)\0/g, (_, at) => String(values[at])) : values[Number(whole)]!;
  });

/** Printed JSON. Each field has the type that the test expects. */
export type Data = Record<string, never>;

/** Runs the command line in a fake terminal. `input` is its stdin. */
export async function runIn(
  args: string[],
  env: Record<string, string>,
  input = "",
  more: Partial<Terminal> = {},
): Promise<Result> {
  const result = { code: 0, out: "", said: "", reports: [] as string[] };
  const { append, create, exists, read, version } = realTerminal;
  result.code = await run({
    args,
    version,
    env,
    isColoured: false,
    write: (text) => {
      result.out += text;
      return Promise.resolve(true);
    },
    say: (text) => void (result.said += text),
    report: (progress) => void result.reports.push(progress),
    read: (path, name) => path === "-" ? Promise.resolve(input) : read(path, name),
    append,
    create,
    exists,
    ...more,
  });
  let json: unknown;
  if (args.includes("--json") && result.out !== "") json = JSON.parse(result.out);
  return { ...result, json };
}

type Setup = Record<"workspaceId" | "key" | "keyId" | "promptId" | "deployId", string>;

/** A place, and how tests use it. */
export type Place = {
  name: string;
  env: Record<string, string>;
  cli(args: string[], input?: string, more?: Partial<Terminal>): Promise<Result>;
  /** Runs a command that must succeed, and returns its JSON. */
  data<T = Data>(args: string[], input?: string): Promise<T>;
  /** Creates a workspace with a key, a prompt and a deployment by commands. */
  setUp(): Promise<Setup>;
};

function placeOf(name: string, env: Record<string, string>, options: string[]): Place {
  const cli: Place["cli"] = (args, input, more) => runIn([...args, ...options], env, input, more);
  async function data<T = Data>(args: string[], input?: string): Promise<T> {
    const { code, said, json } = await cli([...args, "--json"], input);
    if (code !== 0) throw new Error(`${args.join(" ")}: ${said}`);
    return json as T;
  }
  async function setUp(): Promise<Setup> {
    type Made = { id: string; key: string };
    const { id: workspaceId } = await data<Made>(["workspace", "create", "--name", "Acme", "--limit", "100"]);
    const scope = ["--workspace", workspaceId];
    const { key, id: keyId } = await data<Made>(["key", "create", ...scope, "--name", "test"]);
    const { id: promptId } = await data<Made>(
      ["prompt", "push", "-", ...scope, "--name", "greeting"],
      JSON.stringify(promptFile),
    );
    const create = ["deploy", "create", ...scope, "--name", "production", "--prompt", promptId];
    const { id: deployId } = await data<Made>(create);
    return { workspaceId, key, keyId, promptId, deployId };
  }
  return { name, env, cli, data, setUp };
}

export type Places = {
  /** The database itself. */
  here: Place;
  /** Tests on the database itself, and on the service; in part, on one of them in turn. */
  everywhere(name: string, body: (place: Place) => Promise<void>): void;
  folder: string;
  url: string;
  DATABASE_URL: string;
  /** Reads the prompt of a deployment from the service, or submits a body to it. */
  request(key: string, deployId: string, body?: string): Promise<Answer>;
  textOf(file: string): Promise<string>;
};

/** Starts a service, and returns both ways to its database. The service ends with the suite. */
export async function openPlaces(test: Test): Promise<Places> {
  const folder = await createFolder();
  const DATABASE_URL = `file:${folder.path}/ledger.db`;
  const service = await startService(currentRuntime, { DATABASE_URL, ADMIN_TOKEN: adminToken });
  const { url } = service;
  test.after(async () => {
    await service.stop();
    await folder.remove();
  });
  const here = placeOf("here", { DATABASE_URL, USER: "" }, []);
  const places = [here, placeOf("by a service", { ADMIN_TOKEN: adminToken }, ["--server", url])];
  let nth = 0;
  return {
    here,
    everywhere(name, body) {
      const tested = isFull ? places : [places[nth++ % places.length]!];
      for (const place of tested) test(`${name} (${place.name})`, () => body(place));
    },
    folder: folder.path,
    url,
    DATABASE_URL,
    async request(key, deployId, body) {
      const init = body === undefined ? {} : { method: "POST", body };
      const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
      return readAnswer(await fetch(`${url}/v1/prompts?deployId=${deployId}`, { ...init, headers }));
    },
    textOf: (file) => readFile(`${folder.path}/${file}`, "utf8"),
  };
}
