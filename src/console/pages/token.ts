// A management token: its role, its rotation and its revocation.
import type { TokenId } from "../../common/ids.ts";
import { getToken, revokeToken, rotateToken } from "../../management/tokens.ts";
import { time } from "../format.tsx";
import { isolated, markup } from "../html.ts";
import { link } from "../page.ts";
import type { Page } from "../page.ts";
import { chip } from "../parts/chips.tsx";
import { heading } from "../parts/heading.tsx";
import { doneNotice, notice } from "../parts/notice.tsx";
import { isRevoked, stateChip } from "../parts/secret.tsx";
import { facts } from "../parts/table.tsx";
import { changeSecret, rotationForms } from "./secrets.ts";
import { placeOf } from "./tokens.ts";

export const tokenPage: Page = {
  path: "/:workspaceId/tokens/:tokenId",
  section: "tokens",
  async show(visit) {
    const token = await visit.call(getToken, { id: visit.params.tokenId as TokenId });
    const { id, name, role, workspaceId, prefix, createdAt, lastUsedAt, rotatedAt } = token;
    return {
      title: `Token ${name}`,
      body: markup`${doneNotice(visit, { revoke: "The token is revoked, and its sessions have ended." })}${
        heading({ title: isolated(name), trail: [{ label: "Tokens", href: link(visit, ["tokens"]) }] })
      }${
        id === visit.caller.tokenId &&
        notice("info", "You are signed in with this token. Changing it ends your session.")
      }${
        facts([
          ["Role", chip(role)],
          ["Where", placeOf(visit, workspaceId)],
          ["State", stateChip(token, visit.now)],
          ["Begins with", markup`<code>${prefix}…</code>`],
          ["Created", time(createdAt)],
          ["Last used, to the hour", time(lastUsedAt)],
          ["Rotated", time(rotatedAt)],
          ["Id", markup`<code>${id}</code>`],
        ])
      }${!isRevoked(token) && rotationForms(visit, rotateToken, revokeToken, "whoever uses it")}`,
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
