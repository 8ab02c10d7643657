// A management token: its role, its rotation and its revocation.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import type { TokenId } from "../../common/ids.ts";
import { hasRole } from "../../management/operation.ts";
import type { Role } from "../../management/operation.ts";
import { getToken, revokeToken, rotateToken } from "../../management/tokens.ts";
import { Fragment, h, isolated } from "../html.ts";
import { link } from "../page.ts";
import type { Page } from "../page.ts";
import { Chip } from "../parts/chips.tsx";
import { Notice } from "../parts/notice.tsx";
import { isRevoked, SecretFacts } from "../parts/secret.tsx";
import { Fact, Facts } from "../parts/table.tsx";
import { changeSecret, RotationForms } from "./secrets.tsx";
import { placeOf } from "./tokens.tsx";

export const tokenPage: Page = {
  path: "/:workspaceId/tokens/:tokenId",
  async show(visit) {
    const token = await visit.call(getToken, { id: visit.params.tokenId as TokenId });
    const { id, name, role, workspaceId } = token;
    return {
      title: `Token ${name}`,
      done: { revoke: "The token is revoked, and its sessions have ended." },
      heading: isolated(name),
      body: (
        <>
          {id === visit.caller.tokenId && (
            <Notice kind="info">You are signed in with this token. Changing it ends your session.</Notice>
          )}
          <Facts>
            <Fact label="Role">
              <Chip>{role}</Chip>
            </Fact>
            <Fact label="Scope">{placeOf(visit, workspaceId)}</Fact>
            <SecretFacts holder={token} now={visit.now} />
          </Facts>
          {!isRevoked(token) && <RotationForms visit={visit} operation={atLeast(role)} users="its users" />}
        </>
      ),
    };
  },
  act(visit) {
    const id = visit.params.tokenId as TokenId, back = link(visit, ["tokens", id]);
    return changeSecret(visit, back, {
      revoke: () => visit.call(revokeToken, { id }),
      async rotate(overlapMs) {
        const { token: secret, name } = await visit.call(rotateToken, { id, overlapMs });
        return { secret, name };
      },
    });
  },
};

/** What changes a token needs its role besides. */
const atLeast = (role: Role) => hasRole(rotateToken, role) ? rotateToken : { role };
