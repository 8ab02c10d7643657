// Renders versions: messages with their variables filled in, and differences for people.
import { conflict, listed } from "../../common/errors.ts";
import type { PromptId } from "../../common/ids.ts";
import { Messages } from "../../schema/serving.ts";
import { described, option, shape } from "../../schema/struct.ts";
import type { Infer } from "../../schema/struct.ts";
import * as v from "../kernel/values.ts";
import { operation } from "../kernel/operation.ts";
import { diffPrompts, fillVariables } from "./prompt-text.ts";
import { ofPrompt } from "../kernel/references.ts";
import { requireVersion } from "./versions.ts";
import type { PromptVersion } from "./versions.ts";

const id = described(v.textAs<PromptId>(), "The id of the prompt");
const RenderedPrompt = shape("RenderedPrompt", { id, version: v.positive, messages: Messages });
const PromptDiff = shape("PromptDiff", {
  id,
  from: v.positive,
  to: v.positive,
  diff: described(v.text, "A unified diff, for people. Empty if nothing differs"),
});
export type PromptDiff = Infer<typeof PromptDiff>;

export const renderPrompt = operation({
  id: "renderPrompt",
  summary: "Fill in the variables of a version, by default the newest. Each variable needs a value",
  method: "POST",
  path: "/prompts/{id}/render",
  conflicts: true,
  role: "viewer",
  input: {
    ...ofPrompt,
    version: option(v.positive, "Default: the newest version"),
    values: described(v.texts, "A text for each variable, by name"),
  },
  output: RenderedPrompt,
  async run(management, { id, version, values }) {
    const prompt = await requireVersion(management, id, version);
    const { messages, missing } = fillVariables(prompt.messages, values);
    if (missing.length > 0) {
      throw conflict(`Variables without a value: ${listed(missing)}`, "conflict", "values");
    }
    return { id, version: prompt.version, messages };
  },
});

export const diffVersions = operation({
  id: "diffVersions",
  summary: "Show the differences between two versions as a unified diff. The second version defaults to the newest",
  method: "GET",
  path: "/prompts/{id}/diff",
  conflicts: true,
  command: "prompt diff REF --from N [--to N]",
  input: {
    ...ofPrompt,
    from: described(v.positive, "The first version"),
    to: option(v.positive, "The second version. Default: the newest"),
  },
  output: PromptDiff,
  async run(management, { id, from, to }) {
    const before = await requireVersion(management, id, from);
    const after = await requireVersion(management, id, to);
    const labelled = (content: PromptVersion) => ({ label: `version ${content.version}`, content });
    return { id, from, to: after.version, diff: diffPrompts(labelled(before), labelled(after)) };
  },
});

export const renderingOperations = [renderPrompt, diffVersions];
