// What all operations have in common: who may call them, and the codes of refusals.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { Refusal } from "../../src/common/errors.ts";
import { operations } from "../../src/management/index.ts";
import { perform, roles } from "../../src/management/kernel/operation.ts";
import type { Management } from "../../src/management/kernel/operation.ts";
import { createWorld, managementOf, openMemory } from "../helpers.ts";

const test = suite("operations");

test("an operation refuses every role below its own, before it checks its input", async () => {
  const management = managementOf(await openMemory());
  for (const operation of operations) {
    for (const role of roles) {
      const caller = { ...management.caller, role };
      const refusal = await perform(operation as never, { ...management, caller }, { value: { unknown: 1 } }).catch((
        error: unknown,
      ) => error) as Refusal;
      const isAllowed = roles.indexOf(role) >= roles.indexOf(operation.role);
      assert.is(refusal.code === "role_required", !isAllowed, `${operation.id} by ${role}`);
      assert.is(refusal.kind, isAllowed ? "invalid" : "forbidden");
      if (!isAllowed) assert.is(refusal.message, `This needs the role ${operation.role}`);
    }
  }
});

test("a viewer can only read", () => {
  for (const { id, method, role } of operations) {
    assert.is(role === "viewer", method === "GET" || id === "renderPrompt", id);
  }
});

test("an operation cannot commit twice, because its second commit would be a change of its own", async () => {
  const management = managementOf(await openMemory());
  const committing = {
    ...operations.find(({ id }) => id === "createWorkspace")!,
    async run({ commit }: Management) {
      await commit([], []);
      await commit([], []);
    },
  };
  const error = await perform(committing as never, management, { value: { name: "Twice" } }).catch((error) => error);
  assert.instance(error, TypeError);
});

test("refusals have codes for programs", async () => {
  const { manage, deployId, promptId, submit } = await createWorld();
  const { id } = (await submit()).json as { id: string };
  await manage("DELETE", `/diagnoses/${id}`);
  const refusals: [method: string, path: string, body: object | undefined, code: string][] = [
    ["GET", "/workspaces/ws_1", undefined, "workspace_not_found"],
    ["GET", "/keys/key_1", undefined, "api_key_not_found"],
    ["GET", "/prompts/prompt_1", undefined, "prompt_not_found"],
    ["GET", `/prompts/${promptId}/versions/9`, undefined, "version_not_found"],
    ["GET", "/deployments/dep_1", undefined, "deployment_not_found"],
    ["GET", "/diagnoses/diag_1", undefined, "diagnosis_not_found"],
    ["GET", `/diagnoses/${id}`, undefined, "diagnosis_deleted"],
    ["POST", `/deployments/${deployId}/rollback`, {}, "conflict"],
    ["POST", "/workspaces", { name: "" }, "invalid"],
    ["POST", "/workspaces", { name: "x".repeat(5000) }, "too_large"],
    ["GET", "/nothing", undefined, "path_not_found"],
    ["PUT", "/workspaces", undefined, "method_not_allowed"],
  ];
  for (const [method, path, body, code] of refusals) {
    assert.is(((await manage(method, path, body)).json as { code: string }).code, code, `${method} ${path}`);
  }
  const headers = { Authorization: "Bearer x" };
  assert.equal((await manage("GET", "/workspaces", undefined, headers)).json, {
    error: "Invalid admin token",
    code: "invalid_token",
  });
});

test.run();
