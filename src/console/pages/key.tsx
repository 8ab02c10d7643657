// An API key: what it may do, its rotation and its revocation.
/** @jsx h */
/** @jsxFrag Fragment */
import { notFound } from "../../common/errors.ts";
import type { KeyId } from "../../common/ids.ts";
import { getApiKey, revokeApiKey, rotateApiKey } from "../../management/api-keys.ts";
import type { ApiKey } from "../../management/api-keys.ts";
import { time } from "../format.tsx";
import { Fragment, h, isolated } from "../html.ts";
import { link, workspaceOf } from "../page.ts";
import type { Page, Visit } from "../page.ts";
import { Heading } from "../parts/heading.tsx";
import { doneNotice } from "../parts/notice.tsx";
import { isRevoked, stateChip } from "../parts/secret.tsx";
import { facts } from "../parts/table.tsx";
import { findReferences } from "./inputs.ts";
import { mayOf } from "./keys.tsx";
import { changeSecret, rotationForms } from "./secrets.ts";

export const keyPage: Page = {
  path: "/:workspaceId/keys/:keyId",
  section: "keys",
  async show(visit) {
    const key = await findKey(visit);
    const { id, name, prefix, deployId, createdAt, lastUsedAt, rotatedAt } = key;
    const references = await findReferences(visit, [deployId]);
    return {
      title: `Key ${name || prefix}`,
      body: (
        <>
          {doneNotice(visit, { revoke: "The key is revoked." })}
          <Heading title={isolated(name || "Unnamed key")} trail={[{ label: "Keys", href: link(visit, ["keys"]) }]} />
          {facts([
            ["State", stateChip(key, visit.now)],
            ["May", mayOf(key, references)],
            ["Begins with", <code>{prefix}…</code>],
            ["Created", time(createdAt)],
            ["Last used, to the hour", time(lastUsedAt)],
            ["Rotated", time(rotatedAt)],
            ["Id", <code>{id}</code>],
          ])}
          {!isRevoked(key) && rotationForms(visit, rotateApiKey, revokeApiKey, "applications")}
        </>
      ),
    };
  },
  async act(visit) {
    const { id } = await findKey(visit), back = link(visit, ["keys", id]);
    return await changeSecret(visit, back, {
      revoke: () => visit.call(revokeApiKey, { id }),
      async rotate(overlapMs) {
        const { key: secret, name } = await visit.call(rotateApiKey, { id, overlapMs });
        return { secret, name };
      },
    });
  },
};

/** The key in the path, which must be of the workspace in the path. */
async function findKey(visit: Visit): Promise<ApiKey> {
  const id = visit.params.keyId as KeyId, key = await visit.call(getApiKey, { id });
  if (key.workspaceId !== workspaceOf(visit).id) throw notFound("API key", id);
  return key;
}
