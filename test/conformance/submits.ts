// Predicts the outcome of a submit without code of the service: whether it is accepted, and how its record is returned.
import { Buffer } from "node:buffer";
import { decimalOf, depthOf, isSame, membersOf } from "../common/json-tokens.ts";

/** The text of a body, if a submit may have it. */
export function readBody(body: string | Uint8Array): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(body));
    return fits(JSON.parse(text), text) && depthOf(text) <= 1000 ? text : undefined;
  } catch {
    return undefined;
  }
}

type Body = Record<
  "sessionId" | "status" | "content" | "latency" | "startAt" | "endAt" | "additional_properties" | "promptVersion",
  unknown
>;

const isObject = (value: unknown): value is Body =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Numbers count with every digit that was sent: what a double rounds to an integer, or to 0, is none. */
function fits(body: unknown, sent: string): boolean {
  if (!isObject(body) || !isObject(body.content)) return false;
  const members = membersOf(sent);
  const decimalIn = (name: string) => decimalOf(members.get(name)!.join(""));
  const { input, output } = body.content as { input?: unknown; output?: unknown };
  const isText = (value: unknown) => typeof value === "string";
  const isInteger = (name: keyof Body) => Number.isSafeInteger(body[name]) && isExact(decimalIn(name), body[name]);
  const isTime = (name: keyof Body) => isInteger(name) && Number(body[name]) >= 0;
  const isDuration = (value: unknown) => Number.isFinite(value) && !decimalIn("latency").startsWith("-");
  const isMissingOr = (value: unknown, test: (value: unknown) => boolean) => value === undefined || test(value);
  return isText(body.sessionId) && isInteger("status") &&
    [input, output].every((text) => isMissingOr(text, isText)) && [input, output].some(isText) &&
    isMissingOr(body.latency, isDuration) &&
    // The prompt has one version.
    isMissingOr(body.promptVersion, (value) => value === 1 && isInteger("promptVersion")) &&
    (["startAt", "endAt"] as const).every((name) => isMissingOr(body[name], () => isTime(name))) &&
    isMissingOr(body.additional_properties, isObject);
}

/** Whether a double is just what was sent, in the digits that JavaScript writes it with. */
const isExact = (decimal: string, value: unknown): boolean => decimal === decimalOf(String(value));

const given = ["sessionId", "status", "content", "latency", "startAt", "endAt", "additional_properties"];
const known = ["deployId", "reference", "keyId", "statusName"];
const added = ["id", "createdAt", "submitted", ...known];

/**
 * What must come back of a body: numbers that the specification types as JavaScript writes them, unless that is another
 * number; all else as it was sent.
 */
function expectedOf(id: string, sent: string): { members: Map<string, string[]>; submitted: Map<string, string[]> } {
  const value = JSON.parse(sent);
  const members = new Map(given.map((name) => [name, ["null"]]));
  const submitted = new Map<string, string[]>();
  for (const [name, tokens] of membersOf(sent)) {
    const isTyped = given.includes(name) && typeof value[name] !== "object" &&
      (typeof value[name] !== "number" || isExact(decimalOf(tokens.join("")), value[name]));
    if (name === "promptVersion") continue;
    if (added.includes(name)) submitted.set(name, tokens);
    else members.set(name, isTyped ? [JSON.stringify(value[name])] : tokens);
  }
  return { members: members.set("id", [`"${id}"`]), submitted };
}

/** What is wrong with a returned record, compared with what was sent. */
export function faultOfRecord(id: string, sent: string, line: string): string | undefined {
  const { members, submitted } = expectedOf(id, sent);
  const back = membersOf(line);
  const backSubmitted = membersOf(back.get("submitted")?.join("") ?? "{}");
  const pairs = [[members, back], [submitted, backSubmitted]] as const;
  for (const [expected, found] of pairs) {
    for (const [name, tokens] of expected) {
      if (!isSame(tokens, found.get(name) ?? [])) return `${name}: ${tokens.join("")} → ${found.get(name)?.join("")}`;
    }
  }
  const names = [
    ...members.keys(),
    "promptVersion",
    "createdAt",
    ...known,
    ...(submitted.size === 0 ? [] : ["submitted"]),
  ];
  const isWhole = back.size === names.length && backSubmitted.size === submitted.size;
  return isWhole && back.get("promptVersion")?.join("") === "1" ? undefined : `${sent} → ${line}`;
}
