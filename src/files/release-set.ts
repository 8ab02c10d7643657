// What applying a plan asks of the service: a release set, in the words of the operation, at once or kept in a file.
import { ReleaseSet } from "../management/apply.ts";
import type { PromptChange } from "../management/apply.ts";
import { text } from "../management/values.ts";
import { readObject } from "../schema/parse.ts";
import { exactly, listOf, optional } from "../schema/struct.ts";
import type { Infer } from "../schema/struct.ts";
import { isChange } from "./plan.ts";
import type { Plan, PromptPlan } from "./plan.ts";

/** How many prompts one operation takes. */
export const maxReleaseSet = 200;

/** The changes of a plan, for each prompt that changes. */
export const toReleaseSet = ({ prompts }: Plan, note?: string): PromptChange[] =>
  prompts.filter(isChange).map((prompt) => toPromptChange(prompt, note));

const toPromptChange = (
  { name, was, base, push, promotions, archives }: PromptPlan,
  note: string | undefined,
): PromptChange => ({
  name,
  ...(was === undefined ? {} : { was }),
  ifLatest: base,
  ...(push === undefined ? {} : { ...push.content, ...(note === undefined ? {} : { note }) }),
  ...(archives === undefined ? {} : { archive: true, ifDeployments: archives }),
  ...(promotions.length === 0 ? {} : {
    deploy: promotions.map(({ deployment, to, revision }) => ({ name: deployment, version: to, ifRevision: revision })),
  }),
});

/** What a plan would replace that was changed elsewhere: `version 2 of support/chat`. */
export const findBuried = ({ prompts }: Plan): string[] =>
  prompts.flatMap(({ name, drift, push, promotions }) => [
    ...(drift?.kind === "version" && push !== undefined ? [`version ${drift.version} of ${name}`] : []),
    ...promotions.filter(({ drift, from }) => drift !== undefined && from !== undefined)
      .map(({ deployment, from }) => `version ${from} that ${name}@${deployment} serves`),
  ]);

/** A plan in a file: the release set, and what it buries, if anything. */
const KeptPlan = exactly({ ...ReleaseSet.schema, buried: optional(listOf(text)) });
type KeptPlan = Infer<typeof KeptPlan>;

/** Reads a plan. `name` names the file in messages. */
export const readKeptPlan = (source: string, name: string): KeptPlan => readObject(KeptPlan, source, name);
