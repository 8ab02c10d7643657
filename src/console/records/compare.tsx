// Two versions of a prompt: their difference, and the numbers of both in a deployment.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { invalidField } from "../../common/errors.ts";
import type { PromptId } from "../../common/ids.ts";
import { compareStats } from "../../management/records/compare.ts";
import { listDeployments } from "../../management/deployments/deployments.ts";
import type { Deployment } from "../../management/deployments/deployments.ts";
import { getPrompt } from "../../management/prompts/versions.ts";
import { Fragment, h, isolated } from "../frame/html.ts";
import type { Html } from "../frame/html.ts";
import { link, listAll, queryValue, queryVersion, workspaceOf } from "../frame/page.ts";
import type { ConsoleRequest, Page } from "../frame/page.ts";
import { Empty, Section } from "../frame/elements.tsx";
import { Field, Filters, Select } from "../frame/form.tsx";
import { comparisonView } from "./stats-parts.tsx";
import { comparedFeedback } from "./compared-feedback.tsx";
import { mainOf, spanOf, spanOptions } from "../frame/inputs.tsx";
import { readDifference } from "../frame/diff.tsx";

export const comparePage: Page = {
  path: "/:workspaceId/prompts/:promptId/compare",
  async show(visit) {
    const { call } = visit;
    const { id: workspaceId } = workspaceOf(visit), id = visit.params.promptId as PromptId;
    const [newest, deployments] = await Promise.all([
      call(getPrompt, { id, workspaceId }),
      listAll((page) => call(listDeployments, { workspaceId, promptId: id, ...page })),
    ]);
    const to = queryVersion(visit, "to") ?? newest.version, from = queryVersion(visit, "from") ?? Math.max(to - 1, 1);
    const [{ difference }, numbers] = await Promise.all([
      readDifference(visit, newest.id, from, to),
      numbersOf(visit, [from, to], deployments),
    ]);
    return {
      title: `${newest.name} v${from} and v${to}`,
      heading: `Version ${from} and ${to}`,
      parent: { label: isolated(newest.name), href: link(visit, ["prompts", id]) },
      body: (
        <>
          <Filters>
            <Field label="Compare version" name="from" type="number" value={from} />
            <Field label={`with (1 to ${newest.version})`} name="to" type="number" value={to} />
            {deployments.length > 0 && numbersFields(visit, deployments)}
          </Filters>
          <Section title="Difference">{difference}</Section>
          {numbers}
        </>
      ),
    };
  },
};

/** Fields that select the numbers. */
function numbersFields(visit: ConsoleRequest, deployments: readonly Deployment[]): Html {
  const options = deployments.map(({ id, name }) => [id, name] as const);
  return (
    <>
      <Select label="in" name="deployment" value={chosen(visit, deployments)?.id} options={options} />
      <Select label="and" name="other" value={queryValue(visit, "other")} options={[["", "the same"], ...options]} />
      <Select label="over" name="last" value={queryValue(visit, "last")} options={spanOptions} />
    </>
  );
}

/** The deployment whose id the query has under a name. Throws if the prompt has no such deployment. */
function deploymentIn(visit: ConsoleRequest, name: string, deployments: readonly Deployment[]): Deployment | undefined {
  const asking = queryValue(visit, name), found = deployments.find(({ id }) => id === asking);
  if (found === undefined && asking !== undefined) {
    throw invalidField("deployment", `This prompt has no deployment ${asking}`);
  }
  return found;
}

/** The deployment that the query names, else the one that matters most. */
const chosen = (visit: ConsoleRequest, deployments: readonly Deployment[]): Deployment | undefined =>
  deploymentIn(visit, "deployment", deployments) ?? mainOf(deployments);

async function numbersOf(
  visit: ConsoleRequest,
  [from, to]: [number, number],
  deployments: readonly Deployment[],
): Promise<Html> {
  const deployment = chosen(visit, deployments);
  if (deployment === undefined) {
    return (
      <Section title="Numbers">
        <Empty title="Not deployed">Numbers come from the records of a deployment.</Empty>
      </Section>
    );
  }
  const other = deploymentIn(visit, "other", deployments) ?? deployment;
  const comparison = await visit.call(compareStats, {
    ...{ a: deployment.id, aVersion: from, b: other.id, bVersion: to },
    ...spanOf(visit),
  });
  return (
    <>
      <Section title="Numbers">{comparisonView(comparison)}</Section>
      {await comparedFeedback(visit, comparison, { last: queryValue(visit, "last") })}
    </>
  );
}
