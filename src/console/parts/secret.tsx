// Secrets: one that is shown once, and the state of those that exist.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import type { ApiKey } from "../../management/api-keys.ts";
import { ago, agoByHour } from "../format.tsx";
import { Fragment, h, isolated } from "../html.ts";
import type { Html, Part } from "../html.ts";
import type { View } from "../page.ts";
import { Chip } from "./chips.tsx";
import { Notice } from "./notice.tsx";
import { Fact } from "./table.tsx";

type Shown = { title: string; name: string; secret: string; back: string; children?: Part };

/** Shows a secret, and below it how it is used. No other page does. */
export const secretView = ({ title, name, secret, back, children }: Shown): View => ({
  title,
  body: (
    <>
      <h1>{title}</h1>
      <p class="lede">{isolated(name)}</p>
      <p></p>
      <Notice kind="done">Copy it now. It is stored as a hash, and cannot be shown again.</Notice>
      <div class="copy">
        <code class="secret">{secret}</code>
      </div>
      {children}
      <p></p>
      <p>
        <a class="button" href={back}>I have copied it</a>
      </p>
    </>
  ),
});

/** A key or a token. */
type Holder =
  & { id: string; name: string }
  & Pick<ApiKey, "prefix" | "createdAt" | "lastUsedAt" | "rotatedAt" | "expiresAt" | "revokedAt" | "overlapEndsAt">;

/** Whether a secret is accepted, and until when. */
export function stateChip({ expiresAt, revokedAt, overlapEndsAt }: Holder, now: number): Part {
  if (revokedAt !== null) return <Chip kind="bad">revoked</Chip>;
  if (expiresAt !== null && expiresAt <= now) return <Chip kind="bad">expired</Chip>;
  return (
    <>
      <Chip kind="live">valid</Chip>
      {expiresAt !== null && <p class="hint">expires {ago(expiresAt, now)}</p>}
      {overlapEndsAt !== null && overlapEndsAt > now && <p class="hint">old secret expires {ago(overlapEndsAt, now)}
      </p>}
    </>
  );
}

export const isRevoked = ({ revokedAt }: Holder): boolean => revokedAt !== null;

/** The name of a key or a token in a list, with the characters that its secret begins with. */
export const secretLink = (href: string, { name, prefix }: Holder): Html => (
  <>
    <a href={href}>{isolated(name || "unnamed")}</a>
    <p class="hint mono">{prefix}…</p>
  </>
);

/** The facts that the pages of a key and of a token share. */
export const SecretFacts = ({ holder, now }: { holder: Holder; now: number }): Html => (
  <>
    <Fact label="State">{stateChip(holder, now)}</Fact>
    <Fact label="Begins with">
      <code>{holder.prefix}…</code>
    </Fact>
    <Fact label="Created">{ago(holder.createdAt, now)}</Fact>
    <Fact label="Last used">{agoByHour(holder.lastUsedAt, now)}</Fact>
    <Fact label="Rotated">{ago(holder.rotatedAt, now)}</Fact>
    <Fact label="Id">
      <code>{holder.id}</code>
    </Fact>
  </>
);
