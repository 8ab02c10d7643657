// What the pages of keys and tokens share: when a secret expires, and its rotation and revocation.
import type { Role } from "../../management/operation.ts";
import { markup } from "../html.ts";
import type { Html, Part } from "../html.ts";
import { sent } from "../page.ts";
import type { Shown, Visit } from "../page.ts";
import { field, form, guarded, hiddenField, select } from "../parts/form.tsx";
import { section } from "../parts/heading.tsx";
import { secretView } from "../parts/secret.tsx";
import { momentOf } from "./inputs.ts";

export const expiryLabel = "Expires (UTC)";

/** The field for the time at which a new secret expires. */
export const expiryField = ({ form }: Visit): Html =>
  field({
    label: expiryLabel,
    name: "expiresAt",
    type: "datetime-local",
    value: form.get("expiresAt"),
    hint: "Never, if empty.",
  });

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

/** `who` are those that use the secret: `applications`. */
export function rotationForms(visit: Visit, rotate: { role: Role }, revoke: { role: Role }, who: string): Html {
  return markup`${
    section(
      "Rotate",
      guarded(visit, rotate, (): Part =>
        form({
          submit: "Make a new secret",
          body:
            markup`<p>A new secret is shown once. The old one stays valid for a while, so that ${who} can change over.</p>${
              hiddenField("do", "rotate")
            }${
              select({ label: "The old secret stays valid", name: "overlap", value: overlaps[2][0], options: overlaps })
            }`,
        })),
    )
  }${
    section(
      "Revoke",
      guarded(visit, revoke, (): Part =>
        markup`<details><summary>Revoke it for good</summary>${
          form({
            submit: "Revoke",
            kind: "danger",
            body: markup`<p>All its secrets are refused from the next request on. This cannot be taken back.</p>${
              hiddenField("do", "revoke")
            }`,
          })
        }</details>`),
    )
  }`;
}

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
