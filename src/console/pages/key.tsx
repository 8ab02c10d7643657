// An API key: what it may do, its rotation and its revocation.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { notFound } from "../../common/errors.ts";
import type { KeyId } from "../../common/ids.ts";
import { getApiKey, revokeApiKey, rotateApiKey } from "../../management/api-keys.ts";
import type { ApiKey } from "../../management/api-keys.ts";
import { Fragment, h, isolated } from "../html.ts";
import { link, workspaceOf } from "../page.ts";
import type { Page, Visit } from "../page.ts";
import { isRevoked, SecretFacts } from "../parts/secret.tsx";
import { Fact, Facts } from "../parts/table.tsx";
import { findReferences } from "./inputs.tsx";
import { permissionsOf } from "./keys.tsx";
import { changeSecret, RotationForms } from "./secrets.tsx";

export const keyPage: Page = {
  path: "/:workspaceId/keys/:keyId",
  async show(visit) {
    const key = await findKey(visit);
    const { name, prefix, deployId } = key;
    const references = await findReferences(visit, [deployId]);
    return {
      title: `Key ${name || prefix}`,
      done: { revoke: "The key is revoked." },
      heading: isolated(name || "Unnamed key"),
      body: (
        <>
          <Facts>
            <Fact label="Permissions">{permissionsOf(key, references)}</Fact>
            <SecretFacts holder={key} now={visit.now} />
          </Facts>
          {!isRevoked(key) && <RotationForms visit={visit} operation={rotateApiKey} users="applications" />}
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
