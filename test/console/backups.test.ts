// What the settings say of the service's backups, and to whom.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { BackupState } from "../../src/management/upkeep/backup-notices.ts";
import { createToken } from "../../src/management/access/tokens.ts";
import { call } from "../actions.ts";
import { adminToken, createWorld, readAnswer, serveContext, wholePages } from "../helpers.ts";
import { management } from "../../src/management.ts";
import { origin, visit } from "./visitor.ts";

const test = suite("backups in the console");

const hour = 3_600_000; // ms

const world = await createWorld();

/** The settings, as a service with such backups shows them. */
async function settingsWith(backups: BackupState | "off" | undefined, token?: string): Promise<string> {
  const pages = wholePages(backups === undefined ? {} : { readBackups: () => backups });
  const faces = [management({ adminToken }), pages];
  const { fetch } = serveContext(world.database, { clock: () => world.now, faces });
  const send = async (path: string, init?: RequestInit) => readAnswer(await fetch(new Request(origin + path, init)));
  const visitor = await visit({ send, workspaceId: world.workspaceId }, token);
  return (await visitor.see("/settings")).replace(/<[^>]+>/g, "");
}

const state: BackupState = { place: "s3://backups/prod", every: 6 * hour, newest: undefined, failure: undefined };

test("they show the place, the age and the size of the newest, and when the next one is due", async () => {
  assert.match(
    await settingsWith(state),
    /Backups of the service.*s3:\/\/backups\/prod.*none yet.*6 hours after the newest/s,
  );
  const newest = { name: "promptledger-20261115T100000Z.db.gz", createdAt: world.now - 2 * hour, bytes: 3_100_000 };
  assert.match(await settingsWith({ ...state, newest }), /Newest\s*2 h ago, 3\.1 million bytes/);
});

test("they show why backups fail, whatever text that is", async () => {
  const failure = { at: world.now - hour, cause: "403 <b>AccessDenied</b>" };
  assert.match(
    await settingsWith({ ...state, failure }),
    /Backups fail, last 1 h ago: 403 &lt;b&gt;AccessDenied&lt;\/b&gt;/,
  );
});

test("they say how to make them, where the service could", async () => {
  assert.match(await settingsWith("off"), "None are made by schedule. Set BACKUP_TO to make them.");
  assert.not.match(await settingsWith(undefined), "Backups");
});

test("they say nothing to people who may see one workspace alone", async () => {
  const { token } = await call(createToken, world.admin, { name: "B", role: "admin", workspaceId: world.workspaceId });
  for (const backups of [state, "off"] as const) assert.not.match(await settingsWith(backups, token), /Backups|s3:/);
});

test.run();
