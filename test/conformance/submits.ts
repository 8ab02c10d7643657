// Predicts the outcome of a submit without code of the service: whether it is accepted, and how its record is returned.
import { Buffer } from "node:buffer";
import { depthOf, isSame, membersOf } from "../common/json-tokens.ts";

/** The text of a body, if a submit may have it. */
export function readBody(body: string | Uint8Array): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(body));
    return fits(JSON.parse(text)) && depthOf(text) <= 1000 ? text : undefined;
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

function fits(body: unknown): boolean {
  if (!isObject(body) || !isObject(body.content)) return false;
  const { input, output } = body.content as { input?: unknown; output?: unknown };
  const isText = (value: unknown) => typeof value === "string";
  const isTime = (value: unknown) => Number.isSafeInteger(value) && Number(value) >= 0;
  const isMissingOr = (value: unknown, test: (value: unknown) => boolean) => value === undefined || test(value);
  return isText(body.sessionId) && Number.isSafeInteger(body.status) &&
    [input, output].every((text) => isMissingOr(text, isText)) && [input, output].some(isText) &&
    isMissingOr(body.latency, (value) => Number.isFinite(value) && Number(value) >= 0) &&
    // The prompt has one version.
    isMissingOr(body.promptVersion, (value) => value === 1) &&
    [body.startAt, body.endAt].every((at) => isMissingOr(at, isTime)) &&
    isMissingOr(body.additional_properties, isObject);
}

const given = ["sessionId", "status", "content", "latency", "startAt", "endAt", "additional_properties"];
const added = ["id", "createdAt", "submitted"];

/** What must be returned of a body: numbers of the specification as JavaScript writes them, everything else as sent. */
function expectedOf(id: string, sent: string): { members: Map<string, string[]>; submitted: Map<string, string[]> } {
  const value = JSON.parse(sent);
  const members = new Map(given.map((name) => [name, ["null"]]));
  const submitted = new Map<string, string[]>();
  for (const [name, tokens] of membersOf(sent)) {
    const isTyped = given.includes(name) && typeof value[name] !== "object";
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
  const names = [...members.keys(), "promptVersion", "createdAt", ...(submitted.size === 0 ? [] : ["submitted"])];
  const isWhole = back.size === names.length && backSubmitted.size === submitted.size;
  return isWhole && back.get("promptVersion")?.join("") === "1" ? undefined : `${sent} → ${line}`;
}
