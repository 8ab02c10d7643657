// Names as prompts and deployments have them here, made of any others: letters lose their accents, and what has no letter here
// is kept apart by a hash, so that no two names become one.
import { groupBy } from "../../support/group-by.ts";
import { promptName } from "../../management/kernel/values.ts";

const maxSegment = 80;

// Letters that are no letter with an accent.
const letters: Record<string, string> = {
  ...{
    "ß": "ss",
    "æ": "ae",
    "œ": "oe",
    "ø": "o",
    "đ": "d",
    "ð": "d",
    "þ": "th",
    "ł": "l",
    "ħ": "h",
    "ı": "i",
    "ŋ": "n",
  },
};

/** `Support Bot/v2` becomes `support-bot/v2`, `Résumé` becomes `resume`, and `客服` a word with a hash. */
export function toName(text: string): string {
  const segments = text.slice(0, 1000).split("/").map((part) => toSegment(part, "prompt")).filter((part) =>
    part !== ""
  );
  const name = segments.join("/");
  const isName: boolean = promptName.is(name);
  return isName ? name : toUnique(name.slice(0, 180).replace(/[-./]+$/, "") || "prompt", text);
}

/** The name of a deployment for a label. */
export function toLabel(text: string): string {
  const label = toSegment(text.slice(0, 1000), "label");
  return label === "" ? toUnique("label", text) : label;
}

function toSegment(text: string, noun: string): string {
  const plain = text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase()
    .replace(/[ßæœøđðþłħıŋ]/g, (letter) => letters[letter]!);
  const segment = plain.replace(/[^a-z0-9._-]+/g, "-").replace(/^[-.]+|[-.]+$/g, "");
  const isWhole = !/[\p{L}\p{N}\p{So}]/u.test(plain.replace(/[a-z0-9]/g, "")) && segment.length <= maxSegment;
  if (isWhole) return segment;
  return toUnique(segment.slice(0, maxSegment).replace(/[-.]+$/, "") || noun, text);
}

/** A name with a hash of what it was made of. */
const toUnique = (name: string, text: string): string => `${name}-${hashOf(text.normalize("NFC").trim())}`;

/** FNV-1a, of which eight letters and digits tell names apart. */
function hashOf(text: string): string {
  let hash = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(text)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash.toString(36).padStart(8, "0").slice(-8);
}

/**
 * Names for texts, each of its own: where two would become one, the one that is written so keeps it, and each other one gets a
 * hash.
 */
export function distinctNames(texts: readonly string[], toName: (text: string) => string): Map<string, string> {
  const names = new Map<string, string>();
  for (const [name, same] of groupBy([...new Set(texts)], toName)) {
    for (const text of same) names.set(text, same.length === 1 || text === name ? name : toUnique(name, text));
  }
  return names;
}
