// Restricted keys and tokens.
import * as assert from "uvu/assert";
import { goodBody, promptFile } from "../../helpers.ts";
import { isNotFound, isRecorded, isRefusal } from "../answers.ts";
import { bearer, ownCase, read, recordsOf, submit, usageOf } from "../target.ts";
import type { Case, Target } from "../target.ts";

/** The target with a restricted key of its workspace. */
async function withKey(target: Target, power: object): Promise<Target> {
  const { key } = await target.manage<{ key: string }>("POST", `/workspaces/${target.workspaceId}/keys`, power);
  return { ...target, key };
}

export const powerCases: Case[] = [
  ownCase("a read-only key may not submit, and trying costs nothing", async (tenant) => {
    const own = await withKey(tenant, { readOnly: true });
    assert.is((await read(own)).status, 200);
    isRefusal(await submit(own), 403, "This key may not submit");
    isRefusal(await submit({ ...own, deployId: "dep_0" }), 403, "This key may not submit");
    assert.equal([(await usageOf(own)).used, await recordsOf(own)], [1, []]);
  }),
  ownCase("a submit-only key may not read", async (tenant) => {
    const own = await withKey(tenant, { submitOnly: true });
    isRecorded(await submit(own));
    isRefusal(await read(own), 403, "This key may not read");
    const tagged = { headers: [bearer(own.key), "If-None-Match: *"] };
    isRefusal(await own.send("/v1/revisions", tagged), 403, "This key may not read");
    assert.is((await usageOf(own)).used, 1);
  }),
  ownCase("a key for one deployment does not see the others", async (tenant) => {
    const other = await tenant.deploy(tenant.workspaceId, "staging", { ...promptFile, title: "Other" });
    const own = await withKey(tenant, { deployId: tenant.deployId });
    assert.is((await read(own)).status, 200);
    isRecorded(await submit(own));
    for (const deployId of [other.deployId, "other@staging"]) {
      isNotFound(await read({ ...own, deployId }));
      isNotFound(await submit({ ...own, deployId }));
    }
    const { text } = await own.send("/v1/revisions", { headers: [bearer(own.key)] });
    assert.equal(Object.keys(JSON.parse(text).deployments), [own.deployId]);
  }),
  ownCase("a read-only key may not submit the records of a batch", async (tenant) => {
    const own = await withKey(tenant, { readOnly: true });
    const body = JSON.stringify({
      records: [{ deployId: own.deployId, sessionId: "s", status: 1, content: { input: "" } }],
    });
    const { text } = await own.send("/v1/diagnoses", { method: "POST", headers: [bearer(own.key)], body });
    const refused = { status: 403, error: "This key may not submit", code: "submit_forbidden" };
    assert.equal(JSON.parse(text).results, [refused]);
  }),
  ownCase("a key that may not submit gets no answer to the repeat of another key's submit", async (tenant) => {
    const headers = (key: string) => [bearer(key), "Idempotency-Key: a"];
    isRecorded(await submit(tenant, goodBody, { headers: headers(tenant.key) }));
    const reader = await withKey(tenant, { readOnly: true });
    const refused = await submit(reader, goodBody, { headers: headers(reader.key) });
    isRefusal(refused, 403, "This key may not submit");
    const other = await tenant.deploy(tenant.workspaceId, "staging", { ...promptFile, title: "Other" });
    const bound = await withKey(tenant, { deployId: other.deployId });
    isNotFound(await submit(bound, goodBody, { headers: headers(bound.key) }));
  }),
  ownCase("a token of one workspace reads its lists page by page, and its cursors are no numbers", async (tenant) => {
    const { send, manage, workspaceId, deployId } = tenant;
    for (const sessionId of ["a", "b", "c"]) isRecorded(await submit(tenant, { ...goodBody, sessionId }));
    const body = { name: "Ann", role: "viewer", workspaceId };
    const { token } = await manage<{ token: string }>("POST", "/tokens", body);
    const lists = [
      `/deployments/${deployId}/diagnoses?`,
      `/workspaces/${workspaceId}/calls?`,
      `/workspaces/${workspaceId}/sessions?`,
      "/audit?action=deployment.created&",
    ];
    for (const path of lists) {
      let seen = 0, cursor: string | null = "";
      do {
        const query = `${path}limit=1${cursor === "" ? "" : `&cursor=${cursor}`}`;
        const { status, text } = await send(`/admin/v1${query}`, { headers: [bearer(token)] });
        assert.is(status, 200, text);
        const page = JSON.parse(text) as { items: object[]; nextCursor: string | null };
        seen += page.items.length;
        cursor = page.nextCursor;
        if (cursor !== null) assert.match(cursor, /^[0-9A-Za-z]{60}$/);
      } while (cursor !== null);
      assert.is(seen, path.startsWith("/audit") ? 1 : 3);
    }
  }),
  ownCase("a rotated key has the same restrictions", async (tenant) => {
    const path = `/workspaces/${tenant.workspaceId}/keys`;
    const { id } = await tenant.manage<{ id: string }>("POST", path, { readOnly: true, deployId: tenant.deployId });
    const { key } = await tenant.manage<{ key: string }>("POST", `/keys/${id}/rotate`, {});
    const own = { ...tenant, key };
    assert.is((await read(own)).status, 200);
    isRefusal(await submit(own), 403, "This key may not submit");
  }),
];
