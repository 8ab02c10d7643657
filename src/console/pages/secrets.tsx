// What the pages of keys and tokens share: when a secret expires, and its rotation and revocation.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import type { Role } from "../../management/operation.ts";
import { h } from "../html.ts";
import type { Html } from "../html.ts";
import { sent } from "../page.ts";
import type { Shown, Visit } from "../page.ts";
import { Field, Form, Guarded, HiddenField, Select } from "../parts/form.tsx";
import { Section } from "../parts/heading.tsx";
import { secretView } from "../parts/secret.tsx";
import { momentOf } from "./inputs.tsx";

export const expiryLabel = "Expires (UTC)";

/** The field for the time at which a new secret expires. */
export const ExpiryField = ({ visit }: { visit: Visit }): Html => (
  <Field
    label={expiryLabel}
    name="expiresAt"
    type="datetime-local"
    value={visit.form.get("expiresAt")}
    hint="Never, if empty."
  />
);

/** The time that the field has, in Unix ms, or null for never. */
export const expiryIn = (visit: Visit): number | null => momentOf(sent(visit, "expiresAt")) ?? null;

const hour = 3_600_000; // ms

/** How long an old secret may stay valid, in ms. */
const overlaps = [
  ["0", "Not at all"],
  [String(hour), "1 hour"],
  [String(24 * hour), "24 hours"],
  [String(7 * 24 * hour), "7 days"],
] as const;

type RotationProps = { visit: Visit; operation: { role: Role }; users: string };

/** The forms that rotate and revoke a secret, which need the same role. `users` are those that use it: `applications`. */
export const RotationForms = ({ visit, operation, users }: RotationProps): Html => (
  <Section title="Rotate or revoke">
    <Guarded visit={visit} operation={operation}>
      <Form submit="Make a new secret">
        <p>A new secret is shown once. The old one stays valid for a while, so that {users} can change over.</p>
        <HiddenField name="do" value="rotate" />
        <Select label="The old secret stays valid" name="overlap" value={overlaps[2][0]} options={overlaps} />
      </Form>
      <details>
        <summary>Revoke it for good</summary>
        <Form submit="Revoke" kind="danger">
          <p>All its secrets are refused from the next request on. This cannot be taken back.</p>
          <HiddenField name="do" value="revoke" />
        </Form>
      </details>
    </Guarded>
  </Section>
);

type Acts = { revoke(): Promise<unknown>; rotate(overlapMs: number): Promise<{ name: string; secret: string }> };

/** Does what one of the forms asked for. `back` is the page with the forms. */
export async function changeSecret(visit: Visit, back: string, { revoke, rotate }: Acts): Promise<Shown> {
  if (visit.form.get("do") === "revoke") {
    await revoke();
    return { redirect: `${back}?done=revoke` };
  }
  const { name, secret } = await rotate(Number(sent(visit, "overlap") ?? 0));
  return secretView({ title: "The new secret", name, secret, back });
}
