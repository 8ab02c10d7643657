// How the texts of two versions of a prompt differ, and which variables come and go.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import type { PromptId } from "../../common/ids.ts";
import { diffVersions } from "../../management/renderings.ts";
import { getPromptVersion } from "../../management/versions.ts";
import type { PromptVersion } from "../../management/versions.ts";
import { Fragment, h } from "../html.ts";
import type { Html } from "../html.ts";
import { workspaceOf } from "../page.ts";
import type { Visit } from "../page.ts";
import { Diff } from "../parts/diff.tsx";
import { VariablesNotice } from "../parts/variables.tsx";

/** The difference as pages show it, and the later version. */
export async function readDifference(
  visit: Visit,
  id: PromptId,
  from: number,
  to: number,
): Promise<{ after: PromptVersion; difference: Html }> {
  const { call } = visit, { id: workspaceId } = workspaceOf(visit);
  const [before, after, { diff }] = await Promise.all([
    call(getPromptVersion, { id, workspaceId, version: from }),
    call(getPromptVersion, { id, workspaceId, version: to }),
    call(diffVersions, { id, workspaceId, from, to }),
  ]);
  const difference = (
    <>
      <VariablesNotice before={before.variables} after={after.variables} />
      <Diff text={diff} label={`Version ${from} to ${to}`} />
    </>
  );
  return { after, difference };
}
