// Puts keys and tokens in every place where they do not belong, and then searches for them: in the database and its log, in a
// backup, in printed output and in answers. Keys are stored as hashes, and each is shown once. Content that a client stores is
// stored as it is, even a key: the value or the name of a field, or a name or a note in management. Such a key may be in the
// database and in an answer that returns the content, but not in printed output or in a refusal.
// Runs on every runtime in CI.
import { readFile } from "node:fs/promises";
import Libsql from "libsql";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { newApiKey } from "../../src/common/ids.ts";
import { runIn } from "../cli/places.ts";
import { createSeededDatabase } from "../faults/audit.ts";
import { goodBody, promptFile } from "../helpers.ts";
import type { Tenant } from "../helpers.ts";
import { currentRuntime } from "../runtimes.ts";
import { send } from "./http-client.ts";
import type { HttpAnswer, HttpRequest } from "./http-client.ts";
import { createFolder, readFiles, startService } from "./processes.ts";

/** A key or token, and what it was used for. `isContent` if a client stored it. */
type Secret = { use: string; text: string; isContent: boolean };

/** Something that was written or printed, with bytes as latin1. `shows` is the secret that only this place may show. */
type Place = { name: string; text: string; isStore: boolean; shows?: string };

const pieceLength = 12;

/** Parts of a secret, without the first characters, which lists show. A text that has much of the secret has one of them. */
function* piecesOf({ text }: Secret): Generator<string> {
  for (let at = 9; at + pieceLength <= text.length; at += 4) yield text.slice(at, at + pieceLength);
}

/** Lists which secret was found where. */
function* leaksOf(secrets: Secret[], places: Place[]): Generator<string> {
  const owners = new Map(
    secrets.flatMap((secret) => Array.from(piecesOf(secret), (piece) => [piece, secret] as const)),
  );
  for (const { name, text, isStore, shows } of places) {
    const found = new Set<Secret>();
    for (const [word] of text.matchAll(longWord)) {
      for (let at = 0; at + pieceLength <= word.length; at++) {
        const secret = owners.get(word.slice(at, at + pieceLength));
        if (secret !== undefined) found.add(secret);
      }
    }
    for (const secret of found) {
      if (secret.text !== shows && !(secret.isContent && isStore)) yield `${secret.use}: ${name}`;
    }
  }
}

const longWord = new RegExp(`[-\\w]{${pieceLength},}`, "g");

type Day = {
  tenant: Tenant;
  /** Sends a request, and records the answer, which may show the key that it made or the content. */
  ask(target: string, request?: HttpRequest, shows?: "key" | "content"): Promise<HttpAnswer>;
  /** Calls the management API, as `ask` does. */
  manage(method: string, path: string, body?: unknown, shows?: "key" | "content"): Promise<Record<string, never>>;
  /** Runs the command line, and records its output. */
  cli(...args: string[]): Promise<number>;
  /** Makes a key for this use. */
  secret(use: string, isContent?: "content"): Promise<string>;
  /** Makes a management token for this use. */
  token(use: string): Promise<string>;
};

const bearer = (key: string) => `Authorization: Bearer ${key}`;
const post = (key: string, body: unknown, ...headers: string[]): HttpRequest => ({
  method: "POST",
  headers: [bearer(key), ...headers],
  body: JSON.stringify(body),
});

/** Uses keys as they are meant to be used. */
async function useKeys({ tenant, ask, manage, secret }: Day): Promise<void> {
  const { workspaceId, deployId } = tenant;
  const target = `/v1/prompts?deployId=${deployId}`;
  const key = await secret("a good key");
  await ask(target, { headers: [bearer(key)] });
  await ask(target, post(key, goodBody));
  await ask("/v1/usage", { headers: [bearer(key)] });
  const { id, key: first } = await manage("POST", `/workspaces/${workspaceId}/keys`, { name: "first" }, "key");
  await ask(target, post(first!, goodBody));
  const { key: second } = await manage("POST", `/keys/${id}/rotate`, { overlapMs: 60_000 }, "key");
  for (const key of [first!, second!]) await ask(target, { headers: [bearer(key)] });
  await manage("GET", `/keys/${id}`);
  await manage("POST", `/keys/${id}/revoke`);
  for (const key of [first!, second!]) await ask(target, { headers: [bearer(key)] });
  const { id: tokenId, token } = await manage("POST", "/tokens", { name: "Ann", role: "admin" }, "key");
  await ask("/admin/v1/tokens", { headers: [bearer(token!)] });
  await manage("POST", `/tokens/${tokenId}/rotate`, { overlapMs: 60_000 }, "key");
  await manage("GET", `/tokens/${tokenId}`);
  await manage("POST", `/tokens/${tokenId}/revoke`);
  await ask("/admin/v1/tokens", { headers: [bearer(token!)] });
  for (const path of ["keys", "calls", "usage"]) await manage("GET", `/workspaces/${workspaceId}/${path}`);
  for (const path of ["/metrics", "/openapi.json", "/readyz"]) await ask(path);
}

/** Places of a request where a key does not belong. */
const misuses: Record<string, (key: string, tenant: Tenant) => [target: string, request: HttpRequest]> = {
  "as deployId": (key, tenant) => [`/v1/prompts?deployId=${key}`, { headers: [bearer(tenant.key)] }],
  "as deployId of a submit": (key, tenant) => [`/v1/diagnosis?deployId=${key}`, post(tenant.key, goodBody)],
  "in the path": (key) => [`/v1/prompts/${key}`, { headers: [bearer(key)] }],
  "as the path": (key) => [`/${key}?${key}`, {}],
  "as a parameter": (key, { deployId }) => [`/v1/prompts?deployId=${deployId}&apiKey=${key}`, {}],
  "as a parameter's name": (
    key,
    { deployId },
  ) => [`/v1/prompts?${key}&deployId=${deployId}`, { headers: [bearer(key)] }],
  "with a bad checksum": (
    key,
  ) => ["/v1/usage", { headers: [bearer(`${key.slice(0, -1)}${key.endsWith("0") ? 1 : 0}`)] }],
  "twice": (key) => ["/v1/usage", { headers: [bearer(key), bearer(key)] }],
  "by another scheme": (key) => ["/v1/usage", { headers: [`Authorization: Basic ${key}`] }],
  "as the method": (key) => ["/v1/usage", { method: key }],
  "as X-Request-Id": (key) => ["/v1/usage", { headers: [`X-Request-Id: ${key}`] }],
  "in X-Request-Id": (key) => ["/v1/usage", { headers: [`X-Request-Id: id-${key}`] }],
  "as traceparent": (key) => ["/v1/usage", { headers: [`traceparent: ${key}`, `tracestate: a=${key}`] }],
  "as User-Agent and Referer": (key) => ["/v1/usage", {
    headers: [`User-Agent: ${key}`, `Referer: http://a.test/?key=${key}`, `Cookie: key=${key}`, `Origin: ${key}`],
  }],
  "as If-None-Match": (key, tenant) => [
    `/v1/prompts?deployId=${tenant.deployId}`,
    { headers: [bearer(tenant.key), `If-None-Match: "${key}"`] },
  ],
  "as Host": (key) => ["http://" + key + "/v1/usage", {}],
  "as a field's name in a refused body": (key, tenant) => [
    `/v1/diagnosis?deployId=${tenant.deployId}`,
    post(tenant.key, { [key]: 1 }),
  ],
  "as a field's value in a refused body": (key, tenant) => [
    `/v1/diagnosis?deployId=${tenant.deployId}`,
    post(tenant.key, { ...goodBody, status: key }),
  ],
  "as a body": (key, tenant) => [`/v1/diagnosis?deployId=${tenant.deployId}`, {
    ...post(tenant.key, undefined),
    body: key,
  }],
  "as Idempotency-Key that is refused": (key, tenant) => [
    `/v1/diagnosis?deployId=${tenant.deployId}`,
    post(tenant.key, goodBody, `Idempotency-Key: é${key}`),
  ],
  "as the admin token": (key) => ["/admin/v1/workspaces", { headers: [bearer(key)] }],
};

/** The same in requests to the management API. */
const managementMisuses: Record<
  string,
  (key: string, tenant: Tenant) => [method: string, path: string, body?: unknown]
> = {
  "as a workspace's id": (key) => ["GET", `/workspaces/${key}`],
  "as a workspace's id to list": (key) => ["GET", `/workspaces/${key}/keys`],
  "as a workspace's id, with its scheme": (key) => ["GET", `/workspaces/Bearer%20${key}`],
  "as a key's id": (key) => ["POST", `/keys/${key}/revoke`],
  "as a key's id to show": (key) => ["GET", `/keys/${key}`],
  "as a key's id to rotate": (key) => ["POST", `/keys/${key}/rotate`, {}],
  "as a token's id": (key) => ["POST", `/tokens/${key}/rotate`, {}],
  "as a deployment's id": (key) => ["POST", `/deployments/${key}/promote`, { version: 1 }],
  "as a prompt's id": (key) => ["GET", `/prompts/${key}/diff?from=1`],
  "as a record's id": (key) => ["DELETE", `/diagnoses/${key}`],
  "as a month": (key, { workspaceId }) => ["GET", `/workspaces/${workspaceId}/usage/${key}`],
  "as a session to find": (
    key,
    { deployId },
  ) => ["GET", `/deployments/${deployId}/diagnoses?sessionId=${key}&text=${key}`],
  "as a session to delete": (key, { deployId }) => ["DELETE", `/deployments/${deployId}/diagnoses?sessionId=${key}`],
  "as a cursor": (key) => ["GET", `/workspaces?cursor=${key}`],
  "as a workspace to verify": (key) => ["GET", `/verify?workspaceId=${key}`],
  "as a prompt to deploy": (key, { workspaceId }) => [
    "POST",
    `/workspaces/${workspaceId}/deployments`,
    { name: "live", promptId: key },
  ],
  "as an upgrade link": (key, { workspaceId }) => ["PATCH", `/workspaces/${workspaceId}`, { upgradeUrl: key }],
  "as a limit": (key, { workspaceId }) => ["PATCH", `/workspaces/${workspaceId}`, { monthlyLimit: key }],
  "as a parameter's name in management": (key) => ["GET", `/workspaces?${key}=1`],
  "as a field's name in management": (key, { workspaceId }) => ["PATCH", `/workspaces/${workspaceId}`, { [key]: 1 }],
};

/** Keys as arguments of the command line. */
const commandMisuses: Record<string, (key: string, tenant: Tenant) => string[]> = {
  "as the id of a key to revoke": (key) => ["key", "revoke", key],
  "as the id of a key to show": (key) => ["key", "show", key],
  "as the id of a token": (key) => ["token", "show", key],
  "as the id of a workspace": (key) => ["key", "list", "--workspace", key],
  "as the id of a deployment": (key) => ["deploy", "show", key],
  "as a number": (key) => ["workspace", "create", "--name", "x", "--limit", key],
  "as a time": (key, { workspaceId }) => ["key", "create", "--workspace", workspaceId, "--expires", key],
  "as a server": (key) => ["workspace", "list", "--server", key],
  "as a server's user": (key) => ["workspace", "list", "--server", `http://${key}@127.0.0.1:1`],
  "as a command": (key) => [key],
  "as a verb": (key) => ["key", key],
  "as an option": (key) => ["key", "list", `--${key}`],
  "as one argument more": (key, { keyId }) => ["key", "show", keyId, key],
  "as a file": (key, { workspaceId }) => ["prompt", "push", key, "--workspace", workspaceId],
  "as a server's path": (key) => ["workspace", "list", "--server", `http://127.0.0.1:1/${key}`],
};

/** Stores keys as content. */
async function storeKeys({ tenant, ask, manage, secret }: Day): Promise<void> {
  const { workspaceId, promptId, deployId } = tenant;
  const target = `/v1/diagnosis?deployId=${deployId}`;
  const value = await secret("as a value that is recorded", "content");
  const record = { ...goodBody, sessionId: value, content: { input: value }, additional_properties: { key: value } };
  const { text } = await ask(target, post(tenant.key, record));
  const name = await secret("as the name of a field that is recorded", "content");
  await ask(target, post(tenant.key, { ...goodBody, [name]: 1, additional_properties: { [name]: 1 } }));
  const idempotencyKey = await secret("as Idempotency-Key");
  for (const body of [goodBody, goodBody, record]) {
    await ask(target, post(tenant.key, body, `Idempotency-Key: "${idempotencyKey}"`));
  }
  await manage("GET", `/diagnoses/${JSON.parse(text).id}`, undefined, "content");
  await manage("GET", `/deployments/${deployId}/diagnoses/export`, undefined, "content");
  const label = await secret("as a name and a note", "content");
  await manage("POST", `/prompts/${promptId}/versions`, { ...promptFile, title: label, note: label }, "content");
  await manage("POST", `/deployments/${deployId}/promote`, { version: 2, actor: label, note: label }, "content");
  await manage("POST", `/workspaces/${workspaceId}/keys`, { name: label }, "key");
}

const test = suite(`keys in wrong places on ${currentRuntime}`);

for (const [format, add] of [["text", test.full], ["json", test]] as const) {
  add(`a key is only where it is shown, or where a client stored it, with the log as ${format}`, async () => {
    const folder = await createFolder();
    const url = `file:${folder.path}/ledger.db`;
    const { tenant } = await createSeededDatabase(url);
    const secrets: Secret[] = [{ use: "the tenant's key", text: tenant.key, isContent: false }];
    const places: Place[] = [];
    const adminToken = `admin-token-${newApiKey().slice(3)}`;
    secrets.push({ use: "the admin token", text: adminToken, isContent: false });
    const settings = { DATABASE_URL: url, ADMIN_TOKEN: adminToken, LOG_LEVEL: "debug", LOG_FORMAT: format };
    const service = await startService(currentRuntime, settings);

    const keep = (name: string, text: string, isStore = false, shows?: string) =>
      void places.push({ name, text, isStore, ...(shows === undefined ? {} : { shows }) });

    const day: Day = {
      tenant,
      async ask(target, request = {}, shows) {
        const answer = await send(service.url, target, request);
        const { key, token = key } = shows === "key" ? JSON.parse(answer.text) : {};
        if (token !== undefined) secrets.push({ use: `made by ${target}`, text: token, isContent: false });
        const head = [...answer.headers].map(([name, value]) => `${name}: ${value}`);
        keep(
          `answer ${answer.status} to ${request.method ?? "GET"} ${target}`,
          [...head, answer.text].join("\n"),
          shows !== undefined,
          token,
        );
        return answer;
      },
      async manage(method, path, body, shows) {
        const sent = body === undefined ? {} : { body: JSON.stringify(body) };
        const { text, headers } = await day.ask(
          `/admin/v1${path}`,
          { method, headers: [bearer(adminToken)], ...sent },
          shows,
        );
        return headers.get("content-type") === "application/json" ? JSON.parse(text) : {};
      },
      async cli(...args) {
        const { code, out, said } = await runIn(args, { DATABASE_URL: url, ADMIN_TOKEN: adminToken });
        keep(`command ${args.slice(0, 2).join(" ")}`, out + said);
        return code;
      },
      async secret(use, isContent) {
        const { id: _, key } = await day.manage("POST", `/workspaces/${tenant.workspaceId}/keys`, {}, "key");
        secrets.at(-1)!.use = use;
        secrets.at(-1)!.isContent = isContent === "content";
        return key!;
      },
      async token(use) {
        const { token } = await day.manage("POST", "/tokens", { name: "Ann", role: "admin" }, "key");
        secrets.at(-1)!.use = `a token ${use}`;
        return token!;
      },
    };

    async function keepFiles(when: string): Promise<void> {
      const texts = await readFiles(folder.path, (file) => readFile(file, "latin1"));
      for (const [name, text] of texts) keep(`${name} ${when}`, text, true);
    }

    try {
      await useKeys(day);
      for (const [use, misuse] of Object.entries(misuses)) {
        for (const secret of [await day.secret(use), await day.token(use), adminToken]) {
          await day.ask(...misuse(secret, tenant));
        }
      }
      for (const [use, misuse] of Object.entries(managementMisuses)) {
        for (const secret of [await day.secret(use), await day.token(use)]) await day.manage(...misuse(secret, tenant));
      }
      await day.ask("/metrics", { headers: [bearer(adminToken)] });
      // However long the rest takes, the log of the database keeps what is stored from now on.
      const reader = new Libsql(`${folder.path}/ledger.db`, { readonly: true });
      reader.exec("begin");
      reader.exec("select count(*) from sqlite_master");
      await storeKeys(day);
      for (const [use, misuse] of Object.entries(commandMisuses)) {
        for (const secret of [await day.secret(`on the command line ${use}`), await day.token(`there ${use}`)]) {
          assert.is.not(await day.cli(...misuse(secret, tenant)), 0, use);
        }
      }
      assert.is(await day.cli("backup", `${folder.path}/backup.db`), 0);
      await keepFiles("in use");
      reader.exec("rollback");
      reader.close();
      // An internal failure goes to the log.
      const database = new Libsql(`${folder.path}/ledger.db`);
      // While a file is served, no other process may checkpoint.
      database.exec("pragma wal_autocheckpoint = 0");
      database.exec("alter table calls rename to away");
      assert.is(
        (await day.ask(`/v1/prompts?deployId=${tenant.deployId}`, { headers: [bearer(tenant.key)] })).status,
        500,
      );
      database.exec("alter table away rename to calls");
      database.close();
      assert.is(await service.stop(), 0);
      await keepFiles("after the end");
      keep("what the service printed", service.output());
      assert.equal([...leaksOf(secrets, places)], []);
      // The search finds stored content, so it would find a leak.
      const content = secrets.filter(({ isContent }) => isContent).map((secret) => ({ ...secret, isContent: false }));
      const found = [...leaksOf(content, places)];
      for (const { use } of content) {
        for (const file of ["ledger.db-wal in use", "backup.db in use", "ledger.db after the end"]) {
          assert.ok(found.includes(`${use}: ${file}`), `${use}: ${file}`);
        }
      }
    } finally {
      await service.stop("SIGKILL");
      await folder.remove();
    }
  });
}

test.run();
