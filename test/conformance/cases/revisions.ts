// GET /v1/revisions: which version of each deployment is live.
import * as assert from "uvu/assert";
import { promptFile } from "../../helpers.ts";
import { isAnswer, isRefusal } from "../answers.ts";
import { bearer, ownCase, usageOf } from "../target.ts";
import type { Case, Target } from "../target.ts";

const revisions = ({ send, key }: Target, ...headers: string[]) =>
  send("/v1/revisions", { headers: [bearer(key), ...headers] });

export const revisionCases: Case[] = [
  ownCase("GET /v1/revisions returns the live version of each deployment of the key's workspace", async (own) => {
    const other = await own.deploy(own.workspaceId, "staging", { ...promptFile, title: "Other" });
    await own.manage("POST", `/prompts/${own.promptId}/versions`, { ...promptFile, description: "Second" });
    await own.manage("POST", `/deployments/${own.deployId}/promote`, { version: 2 });
    await own.manage("POST", `/deployments/${own.deployId}/deactivate`);
    const answer = await revisions(own);
    isAnswer(answer, 200, {
      deployments: {
        [own.deployId]: { reference: "greeting@production", revision: 3, version: 2, isActive: false, rollout: null },
        [other.deployId]: { reference: "other@staging", revision: 1, version: 1, isActive: true, rollout: null },
      },
    }, { "cache-control": "private, no-cache" });
    assert.match(answer.headers.get("etag") ?? "", /^"[0-9a-f]{32}"$/);
  }),
  ownCase("revisions cost nothing, and are 304 until one changes", async (own) => {
    const tag = (await revisions(own)).headers.get("etag");
    const again = await revisions(own, `If-None-Match: ${tag}`);
    assert.equal([again.status, again.text, again.headers.get("etag")], [304, "", tag]);
    await own.manage("POST", `/deployments/${own.deployId}/deactivate`);
    assert.is((await revisions(own, `If-None-Match: ${tag}`)).status, 200);
    assert.is((await usageOf(own)).used, 0);
  }, { monthlyLimit: 0 }),
  ["a workspace without deployments has no revisions", async (target) => {
    const { id } = await target.manage<{ id: string }>("POST", "/workspaces", { name: "Empty" });
    const { key } = await target.manage<{ key: string }>("POST", `/workspaces/${id}/keys`, {});
    assert.is((await revisions({ ...target, key })).text, '{"deployments":{}}');
  }],
  ["HEAD /v1/revisions answers as GET does, and every other method is 405", async (target) => {
    const headers = [bearer(target.key)];
    const head = await target.send("/v1/revisions", { method: "HEAD", headers });
    assert.equal([head.status, head.text], [200, ""]);
    const answer = await target.send("/v1/revisions", { method: "POST", headers });
    isRefusal(answer, 405, "Method not allowed", { allow: "GET, HEAD" });
  }],
];
