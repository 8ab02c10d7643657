// Secrets: one that is shown once, and the state of those that exist.
import { isolated, markup } from "../html.ts";
import type { Part } from "../html.ts";
import type { View } from "../page.ts";
import { time } from "../format.ts";
import { chip } from "./chips.ts";
import { notice } from "./notice.ts";

/** Shows a secret. No other page does. */
export const secretView = (
  { title, name, secret, back, hint }: { title: string; name: string; secret: string; back: string; hint?: Part },
): View => ({
  title,
  body: markup`<h1>${title}</h1><p class="lede">${isolated(name)}</p><p></p>${
    notice(
      "done",
      "Copy it now. It is stored as a hash, and cannot be shown again.",
    )
  }<code class="secret">${secret}</code>${hint}<p></p><p><a class="button" href="${back}">I have copied it</a></p>`,
});

type Holder = { expiresAt: number | null; revokedAt: number | null; overlapEndsAt: number | null };

/** Whether a secret is accepted, and until when. */
export function stateChip({ expiresAt, revokedAt, overlapEndsAt }: Holder, now: number): Part {
  if (revokedAt !== null) return chip("revoked", "bad");
  if (expiresAt !== null && expiresAt <= now) return chip("expired", "bad");
  return markup`${chip("valid", "live")}${expiresAt !== null && markup`<p class="hint">until ${time(expiresAt)}</p>`}${
    overlapEndsAt !== null && overlapEndsAt > now && markup`<p class="hint">old secret until ${time(overlapEndsAt)}</p>`
  }`;
}

export const isRevoked = ({ revokedAt }: Holder): boolean => revokedAt !== null;
