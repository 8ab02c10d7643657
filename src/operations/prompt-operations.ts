// Prompts and their versions.
import { promptContent } from "../admin/prompt-file.ts";
import * as prompts from "../admin/prompts.ts";
import { publishPrompt as publish } from "../admin/deployments.ts";
import { described, optional } from "../schema/struct.ts";
import * as v from "../schema/values.ts";
import {
  Prompt,
  PromptDiff,
  PromptVersion,
  Publication,
  PushResult,
  RenderedPrompt,
  VersionSummary,
} from "./answers.ts";
import { operation, pageOf, why } from "./operation.ts";

const content = { ...promptContent, note: optional(described(v.note, "Why the version is made")) };

export const createPrompt = operation({
  id: "createPrompt",
  tag: "Prompts",
  summary: "Make a prompt, with its version 1",
  method: "POST",
  path: "/workspaces/{workspaceId}/prompts",
  input: { workspaceId: v.id, ...content },
  output: PushResult,
  locate: ({ id }) => `/prompts/${id}`,
  refusals: ["not_found"],
  run: (admin, { workspaceId, ...input }) => prompts.createPrompt(admin, workspaceId, input),
});

export const pushPrompt = operation({
  id: "pushPrompt",
  tag: "Prompts",
  summary: "Push the next version of a prompt; content that equals the newest version makes no new one",
  method: "POST",
  path: "/prompts/{id}/versions",
  input: { id: v.id, ...content },
  output: PushResult,
  locate: ({ id, version, isNew }) => isNew ? `/prompts/${id}/versions/${version}` : undefined,
  refusals: ["not_found"],
  run: (admin, { id, ...input }) => prompts.pushPrompt(admin, id, input),
});

export const publishPrompt = operation({
  id: "publishPrompt",
  tag: "Prompts",
  summary: "Push a prompt and make it live under the name or id of a deployment; both are made the first time",
  method: "POST",
  path: "/workspaces/{workspaceId}/publish",
  input: {
    workspaceId: v.id,
    deploy: described(v.name, "The name or id of a deployment of the workspace, or the name of one to be made"),
    promptId: optional(described(v.id, "The prompt that gets the version, where the deployment does not tell")),
    ...content,
    actor: why.actor,
    ifRevision: optional(v.count),
  },
  output: Publication,
  locate: ({ deployment: { id, changed, revision } }) => changed && revision === 1 ? `/deployments/${id}` : undefined,
  refusals: ["not_found", "conflict", "outdated"],
  run: (admin, { workspaceId, ...input }) => publish(admin, workspaceId, input),
});

export const listPrompts = operation({
  id: "listPrompts",
  tag: "Prompts",
  summary: "List a workspace's prompts with their newest version, newest first",
  method: "GET",
  path: "/workspaces/{workspaceId}/prompts",
  input: { workspaceId: v.id, ...v.page },
  output: pageOf(Prompt),
  refusals: ["not_found"],
  run: (admin, { workspaceId, ...page }) => prompts.listPrompts(admin, workspaceId, page),
});

export const getPrompt = operation({
  id: "getPrompt",
  tag: "Prompts",
  summary: "Show a prompt's newest version",
  method: "GET",
  path: "/prompts/{id}",
  input: { id: v.id },
  output: PromptVersion,
  refusals: ["not_found"],
  run: (admin, { id }) => prompts.getPromptVersion(admin, id),
});

export const listPromptVersions = operation({
  id: "listPromptVersions",
  tag: "Prompts",
  summary: "List a prompt's versions, newest first",
  method: "GET",
  path: "/prompts/{id}/versions",
  input: { id: v.id, ...v.numberedPage },
  output: pageOf(VersionSummary),
  refusals: ["not_found"],
  run: (admin, { id, ...page }) => prompts.listPromptVersions(admin, id, page),
});

export const getPromptVersion = operation({
  id: "getPromptVersion",
  tag: "Prompts",
  summary: "Show a version of a prompt",
  method: "GET",
  path: "/prompts/{id}/versions/{version}",
  input: { id: v.id, version: described(v.positive, "The number of the version") },
  output: PromptVersion,
  refusals: ["not_found"],
  run: (admin, { id, version }) => prompts.getPromptVersion(admin, id, version),
});

export const renderPrompt = operation({
  id: "renderPrompt",
  tag: "Prompts",
  summary: "Fill in a version's variables, the newest version's unless named; each needs a value",
  method: "POST",
  path: "/prompts/{id}/render",
  input: {
    id: v.id,
    version: optional(described(v.positive, "The newest version unless given")),
    values: described(v.texts, "A text for each variable, by its name"),
  },
  output: RenderedPrompt,
  refusals: ["not_found", "conflict"],
  run: (admin, { id, ...input }) => prompts.renderPrompt(admin, id, input),
});

export const diffVersions = operation({
  id: "diffVersions",
  tag: "Prompts",
  summary: "Show what differs between two versions as a unified diff; `to` is the newest unless named",
  method: "GET",
  path: "/prompts/{id}/diff",
  input: {
    id: v.id,
    from: described(v.positive, "The version before"),
    to: optional(described(v.positive, "The version after; the newest unless given")),
  },
  output: PromptDiff,
  refusals: ["not_found"],
  run: (admin, { id, ...versions }) => prompts.diffVersions(admin, id, versions),
});

export const promptOperations = [
  createPrompt,
  pushPrompt,
  publishPrompt,
  listPrompts,
  getPrompt,
  listPromptVersions,
  getPromptVersion,
  renderPrompt,
  diffVersions,
];
