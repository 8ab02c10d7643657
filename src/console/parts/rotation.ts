// The forms that replace and revoke a secret.
import type { Role } from "../../management/operation.ts";
import { markup } from "../html.ts";
import type { Html, Part } from "../html.ts";
import type { Visit } from "../page.ts";
import { form, guarded, hiddenField, select } from "./form.ts";
import { section } from "./heading.ts";

const hour = 3_600_000; // ms

/** How long an old secret may stay valid, in ms. */
export const overlaps = [
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
        form({
          submit: "Revoke",
          kind: "danger",
          body: markup`<p>All its secrets are refused from the next request on. This cannot be taken back.</p>${
            hiddenField("do", "revoke")
          }`,
        })),
    )
  }`;
}
