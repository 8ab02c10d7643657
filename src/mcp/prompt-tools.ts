// Tools that read and write prompts.
import { conflict, invalidField } from "../common/errors.ts";
import { listPrompts } from "../management/prompts/prompts.ts";
import { diffVersions as showDifferences } from "../management/prompts/renderings.ts";
import { createPrompt, getPrompt as showPrompt, getPromptVersion, pushPrompt } from "../management/prompts/versions.ts";
import { newVersion, promptContent, PromptVersion } from "../management/prompts/versions.ts";
import { described, exactly, listOf, option, optional, refined } from "../schema/struct.ts";
import * as v from "../management/kernel/values.ts";
import { applyEdits } from "./edits.ts";
import { workspaceOf } from "./session.ts";
import { declarationsByName } from "./declaration-list.ts";
import { shownAs } from "./schemas.ts";
import { defaultPage, inWorkspace, page, tool } from "./tool.ts";
import { checkParameter } from "../schema/parse.ts";

const prompt = described(v.promptReference, "The name of the prompt, such as support/assistant, or its id");

const findPrompts = tool({
  name: "list_prompts",
  title: "List prompts",
  description:
    "Lists the prompts of a workspace, newest first, each with its title and the number of its newest version. " +
    "With text, only those that have it in their name, title or messages.",
  runs: [listPrompts],
  input: {
    text: option(v.needle, "Only prompts with this text in the name, the title or the messages"),
    ...inWorkspace,
    ...page,
  },
  output: listPrompts.output,
  async run(session, { workspaceId, limit = defaultPage, ...input }) {
    return await session.call(listPrompts, { ...input, workspaceId: await workspaceOf(session, workspaceId), limit });
  },
});

const getPrompt = tool({
  name: "get_prompt",
  title: "Get a prompt",
  description:
    "Returns one version of a prompt, by default the newest: its messages, model settings and variables. Read it " +
    "before you edit a prompt, and give its version to publish_version as baseVersion.",
  runs: [showPrompt, getPromptVersion],
  input: { prompt, version: option(v.positive, "Default: the newest version"), ...inWorkspace },
  output: exactly({ ...PromptVersion.schema, latestVersion: described(v.positive, "The newest version") }),
  async run({ call }, { prompt, version, workspaceId }) {
    const { prompt: { id, latestVersion }, ...newest } = await call(showPrompt, { id: prompt, workspaceId });
    const isNewest = version === undefined || version === latestVersion;
    return { ...isNewest ? newest : await call(getPromptVersion, { id, version }), latestVersion };
  },
});

const diffVersions = tool({
  name: "diff_versions",
  title: "Compare two versions",
  description: "Shows what differs between two versions of a prompt, as a unified diff.",
  runs: [showDifferences],
  input: {
    prompt,
    from: described(v.positive, "The first version"),
    to: option(v.positive, "The second version. Default: the newest"),
    ...inWorkspace,
  },
  output: showDifferences.output,
  run: async ({ call }, { prompt: id, ...versions }) => await call(showDifferences, { id, ...versions }),
});

const mostEdits = 50;
const edit = exactly({
  old: described(v.filledText, "A piece of a message's text, exactly as it is there. It must occur only once"),
  new: described(v.text, "What replaces it"),
});
const edits = refined(
  listOf(edit),
  (all) => all.length >= 1 && all.length <= mostEdits,
  `an array of 1 to ${mostEdits} edits`,
  { minItems: 1, maxItems: mostEdits },
);
const { messages, llmConfig, declarations } = promptContent;

const messagesInput = shownAs(optional(messages), {
  type: "array",
  items: {
    type: "object",
    properties: {
      role: { type: "string", description: "The role of its author, such as system or user" },
      content: { type: "string", description: "Its text, or an array of parts in the format of the model's provider" },
    },
    required: ["role", "content"],
  },
  description: "All messages, in the order in which the model gets them",
});
const llmConfigInput = shownAs(llmConfig, {
  type: "object",
  // Some model providers reject an object without members.
  properties: {
    provider: { type: "string" },
    model: { type: "string" },
    temperature: { type: "number" },
  },
  description: "The settings of the model, any JSON object. It replaces that of the version as a whole",
});
const declarationsInput = shownAs(
  declarations,
  {
    type: "array",
    items: {
      type: "object",
      properties: {
        name: { type: "string", description: "The name of the variable" },
        type: { type: "string", enum: ["text", "number", "boolean", "messages"] },
        example: { type: "string", description: "A value for previews. Of another type than text, its JSON" },
        required: { type: "boolean", description: "Whether it needs a value. Default: true" },
        description: { type: "string", description: "What it is for" },
      },
      required: ["name", "type"],
    },
    description: "The variables that declare a type. It replaces the declarations of the version as a whole",
  },
  declarationsByName,
);

const publishVersion = tool({
  name: "publish_version",
  title: "Publish a version",
  description:
    "Adds a version to a prompt. It goes live nowhere: that takes promote. To change a prompt, give baseVersion, the version " +
    "that you read, and either edits or whole messages; what you leave out stays as in that version. If another version was " +
    "published since, the call fails: read the prompt again, and see whether your change still fits. To create a prompt, give " +
    "a new name of lower-case letters, such as support/assistant, title and messages, and no baseVersion. Content that equals " +
    "the newest version adds none. Publish only what the user asked for.",
  runs: [pushPrompt, createPrompt, getPromptVersion],
  change: "adds",
  input: {
    prompt,
    baseVersion: option(v.positive, "The newest version, as you read it. Without it a prompt is created"),
    edits: option(edits, "Replacements in the texts of the messages, in order, in place of messages"),
    messages: messagesInput,
    title: option(v.name, "A title for people. Needed for a new prompt"),
    description: option(v.plainText, "What the prompt is for"),
    llmConfig: llmConfigInput,
    declarations: declarationsInput,
    note: newVersion.note,
    ...inWorkspace,
  },
  output: pushPrompt.output,
  async run(session, { prompt, baseVersion, edits, workspaceId, note, ...given }) {
    if (edits !== undefined && given.messages !== undefined) {
      throw invalidField("messages", "Fields edits and messages exclude each other");
    }
    if (baseVersion === undefined) {
      const { title, messages } = given;
      if (title === undefined || messages === undefined) {
        throw conflict(
          "Without baseVersion this creates a prompt, which needs title and messages. To change a prompt, read it with " +
            "get_prompt and give its version as baseVersion",
        );
      }
      const content = { ...given, title, messages };
      const name = checkParameter("prompt", v.promptName, prompt, "Field prompt");
      const workspace = await workspaceOf(session, workspaceId);
      return await session.call(createPrompt, { ...content, workspaceId: workspace, name, note });
    }
    const base = await session.call(getPromptVersion, { id: prompt, version: baseVersion, workspaceId });
    const { title = base.title, description = base.description, messages = base.messages } = given;
    const { llmConfig = base.llmConfig, declarations = base.declarations } = given;
    const edited = edits === undefined ? messages : applyEdits(messages, edits);
    const content = { title, description, messages: edited, llmConfig, declarations };
    return await session.call(pushPrompt, { ...content, id: base.id, ifLatest: baseVersion, note });
  },
});

export const promptTools = [findPrompts, getPrompt, diffVersions, publishVersion];
