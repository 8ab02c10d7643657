// What a team would write by hand: the calls on the runtime's own server and its own SQLite, one prepared and synced transaction
// for each request. It checks the key, counts the quota, logs the call and stores the record, and has nothing else. Node 20 has
// no SQLite, so it uses the one that the service uses.
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import process from "node:process";
import { promptFile } from "../helpers.ts";
import { currentRuntime } from "../runtimes.ts";

type Sqlite = {
  exec(sql: string): unknown;
  prepare(sql: string): { get(...args: unknown[]): unknown; run(...args: unknown[]): unknown };
};
type Fetch = (request: Request) => Promise<Response>;
declare const Bun: { serve(options: { hostname: string; port: number; fetch: Fetch }): { port: number } };
declare const Deno: { serve(options: { hostname: string; port: number }, fetch: Fetch): { addr: { port: number } } };

const { FILE, DEPLOY_ID, KEY } = process.env as Record<string, string>;
const database = await openSqlite(FILE!);
const hashOf = (key: string) => createHash("sha256").update(key).digest("hex");

database.exec(`
  pragma journal_mode = wal;
  pragma synchronous = full;
  create table keys (hash text primary key, workspace_id text not null, quota integer not null);
  create table prompts (deploy_id text primary key, workspace_id text not null, prompt text not null);
  create table usage (workspace_id text, month text, used integer not null, primary key (workspace_id, month));
  create table calls (id integer primary key, workspace_id text, deploy_id text, operation text, created_at integer);
  create table records (call_id integer primary key, body text not null)`);
database.prepare("insert into keys values (?, 'ws', 9007199254740991)").run(hashOf(KEY!));
database.prepare("insert into prompts values (?, 'ws', ?)").run(DEPLOY_ID, JSON.stringify(promptFile));

const begin = database.prepare("begin immediate"), commit = database.prepare("commit");
const rollback = database.prepare("rollback");
const findPrompt = database.prepare(`
  select k.workspace_id, k.quota, p.prompt from keys k join prompts p on p.workspace_id = k.workspace_id
  where k.hash = ? and p.deploy_id = ?`);
const countCall = database.prepare(`
  insert into usage values (?, ?, 1) on conflict do update set used = used + 1 where used < ? returning used`);
const logCall = database.prepare("insert into calls values (null, ?, ?, ?, ?) returning id");
const storeRecord = database.prepare("insert into records values (?, ?)");

function admit(authorization: string, url: string, operation: string, body?: string): [status: number, json: string] {
  const deployId = new URL(url, "http://localhost").searchParams.get("deployId");
  begin.run();
  try {
    const found = findPrompt.get(hashOf(authorization.replace("Bearer ", "")), deployId) as
      | { workspace_id: string; quota: number; prompt: string }
      | undefined;
    const now = Date.now();
    const month = new Date(now).toISOString().slice(0, 7);
    const used = found && countCall.get(found.workspace_id, month, found.quota) as { used: number } | undefined;
    if (used === undefined) {
      rollback.run();
      return [429, "{}"];
    }
    const { id } = logCall.get(found!.workspace_id, deployId, operation, now) as { id: number };
    if (body !== undefined) storeRecord.run(id, JSON.stringify(JSON.parse(body)));
    commit.run();
    return body === undefined ? [200, found!.prompt] : [201, JSON.stringify({ id })];
  } catch {
    rollback.run();
    return [500, "{}"];
  }
}

const headers = { "Content-Type": "application/json" };

async function answer(request: Request): Promise<Response> {
  const isRead = request.method === "GET";
  const body = isRead ? undefined : await request.text();
  const authorization = request.headers.get("Authorization") ?? "";
  const [status, json] = admit(authorization, request.url, isRead ? "read" : "submit", body);
  return new Response(json, { status, headers });
}

/** Listens on a free port, and returns it. */
function listen(): Promise<number> | number {
  const local = { hostname: "127.0.0.1", port: 0 };
  if (currentRuntime === "Bun") return Bun.serve({ ...local, fetch: answer }).port;
  if (currentRuntime === "Deno") return Deno.serve(local, answer).addr.port;
  const server = createServer((request, response) => {
    const chunks: Uint8Array[] = [];
    request.on("data", (chunk) => chunks.push(chunk)).on("end", () => {
      const body = request.method === "GET" ? undefined : Buffer.concat(chunks).toString();
      const operation = request.method === "GET" ? "read" : "submit";
      const [status, json] = admit(request.headers.authorization ?? "", request.url!, operation, body);
      response.writeHead(status, headers).end(json);
    });
  });
  return new Promise((resolve) =>
    server.listen(0, local.hostname, () => resolve((server.address() as AddressInfo).port))
  );
}

async function openSqlite(path: string): Promise<Sqlite> {
  const [name, className] = {
    Node: ["libsql", "default"],
    Bun: ["bun:sqlite", "Database"],
    Deno: ["node:sqlite", "DatabaseSync"],
  }[currentRuntime] as [string, string];
  const module: Record<string, new (path: string) => Sqlite> = await import(name);
  return new module[className]!(path);
}

console.log(`Listening url=http://127.0.0.1:${await listen()}`);
