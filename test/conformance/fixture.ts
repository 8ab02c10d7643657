// What the conformance cases find in the database of the service they speak to.
import type { Management } from "../../src/management/operation.ts";
import { readPromptFile } from "../../src/management/prompt-file.ts";
import {
  createApiKey,
  createDeployment,
  createPrompt,
  pushPrompt,
  revokeApiKey,
  setDeploymentActive,
  updateWorkspace,
} from "../actions.ts";
import { createTenant, toPrompt } from "../helpers.ts";
import type { Tenant } from "../helpers.ts";

export type Fixture = Tenant & {
  admin: Management;
  expiredKey: string;
  revokedKey: string;
  inactiveDeployId: string;
  /** A deployment of a prompt with two versions, of which the second is live. */
  secondVersionDeployId: string;
  other: Tenant;
  /** A tenant with a quota of one request and an upgrade link. */
  exhaustible: Tenant;
  /** The exact texts that were pushed. */
  exact: { deployId: string; messages: string; llmConfig: string };
};

const messages =
  '[{"role":"system","content":"Grüße {{name}}, שלום 👋","weight":1.0},{"role":"user","content":[{"type":"text","text":"{{question}}\\u0000"}]}]';
const llmConfig =
  '{"provider":"openai","temperature":1.0,"seed":12345678901234567890,"":1e400,"__proto__":{"b":1,"a":{"deep":[[]]}}}';

export async function createFixture(admin: Management): Promise<Fixture> {
  const tenant = await createTenant(admin, 100_000);
  const { workspaceId, promptId } = tenant;
  const expired = await createApiKey(admin, workspaceId, { name: "expired", expiresAt: 1 });
  const revoked = await createApiKey(admin, workspaceId, { name: "revoked", expiresAt: null });
  await revokeApiKey(admin, revoked.id);

  const inactive = await createDeployment(admin, workspaceId, { name: "inactive", promptId });
  await setDeploymentActive(admin, inactive.id, false);

  await pushPrompt(admin, promptId, toPrompt({ title: "Second", messages: [{ role: "user", content: "2" }] }));
  const secondVersion = await createDeployment(admin, workspaceId, { name: "second", promptId });

  const source = `{"title":"Exact","messages":${messages},"llmConfig":${llmConfig}}`;
  const exactPrompt = await createPrompt(admin, workspaceId, readPromptFile(source));
  const exact = await createDeployment(admin, workspaceId, { name: "exact", promptId: exactPrompt.id });

  const exhaustible = await createTenant(admin, 1);
  await updateWorkspace(admin, exhaustible.workspaceId, { upgradeUrl: "https://example.com/upgrade" });
  return {
    ...tenant,
    admin,
    expiredKey: expired.key,
    revokedKey: revoked.key,
    inactiveDeployId: inactive.id,
    secondVersionDeployId: secondVersion.id,
    other: await createTenant(admin, 10, "Other"),
    exhaustible,
    exact: { deployId: exact.id, messages, llmConfig },
  };
}
