// What a new workspace needs until an application has used its first prompt.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { createApiKey } from "../../management/api-keys.ts";
import { createDeployment } from "../../management/deployments.ts";
import type { Deployment } from "../../management/deployments.ts";
import { createPrompt } from "../../management/versions.ts";
import { Fragment, h } from "../html.ts";
import type { Html, Part } from "../html.ts";
import { findLack, findLacks, link } from "../page.ts";
import type { Visit } from "../page.ts";
import { findUsable, UseIt } from "../parts/use-it.tsx";
import { mainOf } from "./inputs.tsx";

/** What a workspace has already. `isUsed` is whether an application has used it. */
type Begun = { hasPrompt: boolean; deployments: readonly Deployment[]; hasKey: boolean; isUsed: boolean };

/** The steps that are left, and those that are done; nothing if all are. */
export async function firstSteps(visit: Visit, { hasPrompt, deployments, hasKey, isUsed }: Begun): Promise<Part> {
  const deployment = mainOf(deployments), hasDeployment = deployment !== undefined;
  if (hasPrompt && hasDeployment && hasKey && isUsed) return "";
  const steps = [
    { isDone: hasPrompt, label: "Write a prompt", operation: createPrompt, path: ["prompts", "new"] },
    { isDone: hasDeployment, label: "Deploy a version of it", operation: createDeployment, path: ["prompts"] },
    { isDone: hasKey, label: "Create a key for your application", operation: createApiKey, path: ["keys"] },
  ];
  const left = steps.filter(({ isDone }) => !isDone);
  const lack = findLacks(visit, left.map(({ label, operation }) => [`“${label}”`, operation]));
  return (
    <div class="panel">
      <h2>First steps</h2>
      <ol class="steps">
        {steps.map(({ isDone, label, operation, path }) => (
          <li>
            {isDone
              ? <Done>{label}</Done>
              : findLack(visit, operation) === undefined
              ? <a href={link(visit, path)}>{label}</a>
              : <span aria-disabled="true">{label}</span>}
          </li>
        ))}
        <li>
          {isUsed ? <Done>Use it from your application</Done> : "Use it from your application"}
          {!isUsed && hasDeployment && (
            <UseIt visit={visit} usable={await findUsable(visit, deployment)} isOpen={hasKey} />
          )}
        </li>
      </ol>
      {lack !== undefined && <p class="lack">{lack}</p>}
    </div>
  );
}

const Done = ({ children }: { children?: Part }): Html => (
  <>
    <s>{children}</s> <span class="hint">done</span>
  </>
);
