// What a build is asked about the database that it has filled, and later builds too: commands that print, and requests.
import { words } from "../cli/places.ts";
import { ask } from "./history.ts";
import type { Asked, Filled } from "./history.ts";
import { session, shapes } from "./shapes.ts";

/** The commands that print all that a database has, with `--json`. */
export function readingCommands(filled: Filled, has: (migration: number) => boolean): string[][] {
  const { workspaces, prompts, deployments, records, reviews, webhooks } = filled;
  const since = (migration: number, commands: () => string[][]) => has(migration) ? commands() : [];
  const all = has(6) ? ["--archived"] : [], whole = has(3) ? ["--all"] : [];
  return [
    words`workspace list`,
    ...since(9, () => [words`workspace deleted`]),
    ...workspaces.flatMap((id) => [
      words`key list --workspace ${id}`,
      [...words`prompt list --workspace ${id}`, ...all],
      [...words`deploy list --workspace ${id}`, ...all],
      [...words`call list --workspace ${id}`, ...whole],
      words`usage months --workspace ${id}`,
    ]),
    ...since(11, () => [words`token list`]),
    ...prompts.flatMap((id) => [words`prompt versions ${id}`, words`prompt show ${id}`]),
    ...["1", "2", "3"].map((version) => words`prompt show ${prompts[0]!} --version ${version}`),
    ...deployments.flatMap((id) => [words`deploy history ${id}`, [...words`diagnosis list --deploy ${id}`, ...whole]]),
    words`diagnosis show ${records.at(-1)!}`,
    words`diagnosis list --deploy ${deployments[0]!} --session order-4711`,
    ...since(13, () => [words`audit list --all`]),
    ...since(16, () => [words`price list`]),
    ...since(24, () => [words`feedback list ${records[0]!}`, words`feedback names --workspace ${workspaces[0]!}`]),
    ...reviews.map((id) => words`review show ${id}`),
    ...since(27, () => [words`deploy rollout ${deployments[1]!} --list`]),
    ...webhooks.map((id) => words`webhook show ${id}`),
    words`verify`,
  ];
}

/** Requests of each kind to the three paths, in the order in which they are made. */
export function requests(filled: Filled, has: (migration: number) => boolean): Asked[] {
  const { keys: { app, rotated, revoked, used }, limited, deployments, usedUp } = filled;
  const to = (deployId: string, path = "/v1/prompts") => `${path}?deployId=${deployId}`;
  const [production, canary, off] = deployments as [string, string, string];
  const good = session("after", { input: "In", output: "Out" }, { latency: 1.5 });
  return [
    ask(app, to(production)),
    ask(rotated, to(canary)),
    ask(app, to(off)),
    ask(app, to(usedUp)),
    ask(app, "/v1/prompts"),
    ask(undefined, to(production)),
    ask("pl_nothing", to(production)),
    ask(revoked, to(production)),
    ask(used, to(usedUp)),
    ask(used, to(usedUp), good),
    ask(app, to(production), good),
    ...shapes.slice(0, -1).map((shape) => ask(app, to(production, "/v1/diagnosis"), shape)),
    ask(app, to(production, "/v1/diagnosis"), session("empty", {})),
    ask(app, to(production, "/v1/diagnosis"), session("late", { output: "x" }, { startAt: "now" })),
    ask(app, to(production, "/v1/diagnosis"), "{"),
    // The key was used before: it is answered as then, and free of charge.
    ask(app, to(canary), session("order-4711", { input: "Again", output: "Once" }), {
      "Idempotency-Key": "order-4711-1",
    }),
    ask(app, to(canary), good, { "Idempotency-Key": "order-4711-1" }),
    ...limited.flatMap((key) => [ask(key, to(production)), ask(key, to(canary), good)]),
    ...has(5) ? [ask(app, to("support/chat@production")), ask(app, to("support/chat@canary"), good)] : [],
    ask(app, to(production)),
  ];
}
