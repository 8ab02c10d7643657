// `events`: changes in order, and with `--follow` each new one.
import { harmlessJson } from "../../support/ci-text.ts";
import { stringify } from "../../common/json-text.ts";
import { Refusal } from "../../common/errors.ts";
import { createCursorCheck } from "../../database/page.ts";
import { listEvents, versionsText } from "../../management/events/events.ts";
import type { Event, EventList } from "../../management/events/events.ts";
import type { CommandContext, Outcome } from "../frame/command.ts";
import { formatTime, oneLine, withIsoTimes } from "../frame/format.ts";
import { listLimit, maxPageSize, readPage } from "../frame/lists.ts";
import { present } from "../frame/operation-commands.ts";

type Input = Parameters<typeof listEvents.run>[1];

const waitSeconds = 20;
const retryMs = 2_000;

const toRow = (event: Event) => {
  const { position, createdAt, type, subject: { name, id }, actor, note } = event;
  return { position, createdAt, type, what: name ?? id, versions: versionsText(event), actor, note };
};

/** An event on one line. A stream prints one event at a time, so it has no table. */
function lineOf(event: Event): string {
  const { position, createdAt, type, subject: { name, id }, actor, note } = event;
  const what = [name ?? id, versionsText(event), actor && `by ${actor}`, note && `(${note})`];
  return oneLine([position, formatTime(createdAt), type, ...what].filter(Boolean).join("  "));
}

export const eventPresentations = [
  present(listEvents, {
    explanations: {
      follow:
        "Print each event as it arrives, until you stop the command. It begins with the next event, or after --after",
    },
    check: (args) =>
      args.has("follow") && args.findNumber("limit") !== undefined
        ? "--follow and --limit exclude each other"
        : undefined,
    async run(context, input): Promise<Outcome> {
      if (context.args.has("follow")) return await follow(context, input);
      const { items, next } = await list(context, input);
      return { data: items, rows: items.map(toRow), note: `To go on from here: --after ${next}` };
    },
  }),
];

/** The first events, up to `--limit`. A response has at most a page of them. */
async function list({ args, call }: CommandContext, input: Input): Promise<EventList> {
  const max = args.findNumber("limit") ?? listLimit;
  const items: Event[] = [];
  const check = createCursorCheck();
  for (let { after } = input;;) {
    const limit = Math.min(maxPageSize, max - items.length);
    const page = await readPage(call, listEvents, { ...input, after, limit });
    items.push(...page.items);
    if (items.length >= max || page.items.length < limit) return { items, next: page.next };
    after = String(page.next);
    check(after);
  }
}

/** Writes events as they come. Without `--after` it begins with the next one. */
async function follow(
  { args, call, terminal }: CommandContext,
  { after = "latest", ...input }: Input,
): Promise<Outcome> {
  let next = after, hasStarted = false, isAway = false;
  for (;;) {
    try {
      const found: EventList = await call(listEvents, { ...input, after: next, wait: hasStarted ? waitSeconds : 0 });
      [next, hasStarted, isAway] = [String(found.next), true, false];
      for (const event of found.items) {
        const text = args.json ? harmlessJson(stringify(withIsoTimes(event))) : lineOf(event);
        if (!await terminal.write(`${text}\n`)) return {};
      }
    } catch (error) {
      // A service that stops or restarts misses nothing: the next request contains the last position.
      if (!hasStarted || !isPassing(error)) throw error;
      if (!isAway) terminal.say(`${(error as Refusal).message}. Trying again\n`);
      isAway = true;
      await new Promise((resolve) => setTimeout(resolve, retryMs));
    }
  }
}

const isPassing = (error: unknown) =>
  error instanceof Refusal && (error.kind === "internal" || ["unavailable", "overloaded"].includes(error.code));
