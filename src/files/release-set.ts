// What applying a plan asks of the service: a release set, in the words of the operation.
import type { PromptChange } from "../management/apply.ts";
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
  ...(archives ? { archive: true } : {}),
  ...(promotions.length === 0 ? {} : {
    deploy: promotions.map(({ deployment, to, revision }) => ({ name: deployment, version: to, ifRevision: revision })),
  }),
});
