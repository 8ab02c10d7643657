// Shared by keys and tokens: their state in lists, a secret that is shown once, its expiry, rotation and revocation.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import type { ApiKey } from "../../management/access/api-keys.ts";
import type { Role } from "../../management/kernel/operation.ts";
import { ago, agoByHour } from "../frame/format.tsx";
import { Fragment, h, isolated } from "../frame/html.ts";
import type { Html, Part } from "../frame/html.ts";
import { formValue, link } from "../frame/page.ts";
import type { ConsoleRequest, Page, View } from "../frame/page.ts";
import { Chip } from "../frame/chips.tsx";
import { Field, Form, given, Guarded, HiddenField, Select } from "../frame/form.tsx";
import { Fact, Facts, Notice, Section } from "../frame/elements.tsx";
import { momentOf, numberIn } from "../frame/inputs.tsx";

/** Rows on a page of a list. */
export const pageSize = 50;

/** A key or a token. */
type Holder =
  & { id: string; name: string }
  & Pick<ApiKey, "prefix" | "createdAt" | "lastUsedAt" | "rotatedAt" | "expiresAt" | "revokedAt" | "overlapEndsAt">;

type Shown = { title: string; name: string; secret: string; back: string; children?: Part };

/** Shows a secret, and below it how it is used. No other page does. */
export const secretView = ({ title, name, secret, back, children }: Shown): View => ({
  title,
  body: (
    <>
      <h1>{title}</h1>
      <p class="lede">{isolated(name)}</p>
      <p></p>
      <Notice kind="done">Copy it now. It cannot be shown again.</Notice>
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

/** Validity of a secret, and its expiry. */
export function stateChip({ expiresAt, revokedAt, overlapEndsAt }: Holder, now: number): Part {
  if (revokedAt !== null) return <Chip kind="bad">revoked</Chip>;
  if (expiresAt !== null && expiresAt <= now) return <Chip kind="bad">expired</Chip>;
  const isOverlapping = overlapEndsAt !== null && overlapEndsAt > now;
  return (
    <>
      <Chip kind="live">valid</Chip>
      {expiresAt !== null && <p class="hint">expires {ago(expiresAt, now)}</p>}
      {isOverlapping && <p class="hint">old secret expires {ago(overlapEndsAt, now)}</p>}
    </>
  );
}

/** The name of a key or a token in a list, with the characters that its secret begins with. */
export const secretLink = (href: string, { name, prefix }: Holder): Html => (
  <>
    <a href={href}>{isolated(name || "unnamed")}</a>
    <p class="hint mono">{prefix}…</p>
  </>
);

export const expiryLabel = "Expires (UTC)";

/** The field for the time at which a new secret expires. */
export const ExpiryField = ({ visit }: { visit: ConsoleRequest }): Html => (
  <Field {...given(visit, "expiresAt", expiryLabel)} type="datetime-local" hint="Never, if empty." />
);

/** The time that the field has, in Unix ms, or null for never. */
export const expiryIn = (visit: ConsoleRequest): number | null =>
  momentOf(formValue(visit, "expiresAt"), "expiresAt") ?? null;

/** Differences between the page of a key and that of a token. */
type Kind<T extends Holder> = {
  section: "keys" | "tokens";
  /** Its users: `applications`. */
  users: string;
  find(visit: ConsoleRequest, id: T["id"]): Promise<T>;
  view(visit: ConsoleRequest, holder: T): Promise<Omit<View, "body"> & { notice?: Part; facts: Part }>;
  /** Roles to rotate and revoke it. The role to rotate suffices to revoke. */
  guardsOf(visit: ConsoleRequest, holder: T): Record<"rotate" | "revoke", { role: Role }>;
  revoke(visit: ConsoleRequest, id: T["id"]): Promise<unknown>;
  rotate(visit: ConsoleRequest, input: { id: T["id"]; overlapMs: number }): Promise<{ name: string; secret: string }>;
};

/** Makes the page of a key or a token, with its facts and the forms that rotate and revoke it. */
export const secretPageOf = <T extends Holder>(kind: Kind<T>): Page => ({
  path: `/:workspaceId/${kind.section}/:id`,
  async show(visit) {
    const holder = await kind.find(visit, visit.params.id as T["id"]), { now } = visit;
    const { notice, facts, ...view } = await kind.view(visit, holder), guards = kind.guardsOf(visit, holder);
    return {
      ...view,
      body: (
        <>
          {notice}
          <Facts>
            {facts}
            <Fact label="State">{stateChip(holder, now)}</Fact>
            <Fact label="Begins with" code={`${holder.prefix}…`} />
            <Fact label="Created">{ago(holder.createdAt, now)}</Fact>
            <Fact label="Last used">{agoByHour(holder.lastUsedAt, now)}</Fact>
            <Fact label="Rotated">{ago(holder.rotatedAt, now)}</Fact>
            <Fact label="Id" code={holder.id} />
          </Facts>
          {holder.revokedAt === null && (
            <Section title="Rotate or revoke">
              <Guarded visit={visit} operation={guards.revoke}>
                <Guarded visit={visit} operation={guards.rotate}>{rotationForm(kind.users)}</Guarded>
                {revocationForm}
              </Guarded>
            </Section>
          )}
        </>
      ),
    };
  },
  async act(visit) {
    const { id } = await kind.find(visit, visit.params.id as T["id"]), back = link(visit, [kind.section, id]);
    if (visit.form.get("do") === "revoke") {
      await kind.revoke(visit, id);
      return { redirect: `${back}?done=revoke` };
    }
    const { name, secret } = await kind.rotate(visit, { id, overlapMs: numberIn(visit, "overlap") ?? 0 });
    return secretView({ title: "The new secret", name, secret, back });
  },
});

const hour = 3_600_000; // ms

/** Choices of an old secret's validity, in ms. */
const overlaps = [
  ["0", "Not at all"],
  [String(hour), "1 hour"],
  [String(24 * hour), "24 hours"],
  [String(7 * 24 * hour), "7 days"],
] as const;

/** The choice of how long an old secret may stay valid. */
export const OverlapField = (): Html => (
  <Select label="The old secret stays valid" name="overlap" value={overlaps[2][0]} options={overlaps} />
);

const rotationForm = (users: string): Html => (
  <Form submit="Make a new secret">
    <p>A new secret is shown once. The old one stays valid for a while, so that {users} can change over.</p>
    <HiddenField name="do" value="rotate" />
    <OverlapField />
  </Form>
);

const revocationForm = (
  <details>
    <summary>Revoke it for good</summary>
    <Form submit="Revoke" kind="danger">
      <p>All its secrets are refused from the next request on. This cannot be taken back.</p>
      <HiddenField name="do" value="revoke" />
    </Form>
  </details>
);
