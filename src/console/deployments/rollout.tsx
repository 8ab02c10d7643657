// The rollout of a deployment: starts one, shows its two versions beside each other, and changes, completes or stops
// it.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { invalidField, wrongField } from "../../common/errors.ts";
import type { DeploymentId, RolloutId } from "../../common/ids.ts";
import { promoteDeployment } from "../../management/deployments/deployment-changes.ts";
import { getDeployment } from "../../management/deployments/deployments.ts";
import type { Deployment } from "../../management/deployments/deployments.ts";
import { setRollout, stopRollout } from "../../management/deployments/rollout-operations.ts";
import { feedbackNotCompared, readRolloutStats } from "../../management/records/rollout-stats.ts";
import { ago, dash } from "../frame/format.tsx";
import { Fragment, h, isolated } from "../frame/html.ts";
import type { Html } from "../frame/html.ts";
import { formValue, link, queryValue, queryVersion, workspaceOf } from "../frame/page.ts";
import type { ConsoleRequest, Page } from "../frame/page.ts";
import { versionLink } from "../frame/chips.tsx";
import { doneNotice, Empty, Fact, Facts, Heading, Section } from "../frame/elements.tsx";
import { Field, Filters, Form, given, Guarded, HiddenField, NoteField } from "../frame/form.tsx";
import { afterChange, isRequested, requestNotice, submitText } from "./change-parts.tsx";
import { armsView, outcomeText, shareText, stepsTable } from "../frame/rollout.tsx";
import { versionChoice } from "./deployment-change.tsx";
import { readDecimal, withLabels } from "../frame/inputs.tsx";
import { readDifference } from "../frame/diff.tsx";

export const rolloutPage: Page = {
  path: "/:workspaceId/deployments/:deployId/rollout",
  async show(visit) {
    const { id: workspaceId } = workspaceOf(visit), id = visit.params.deployId as DeploymentId;
    const deployment = await visit.call(getDeployment, { id, workspaceId });
    const { reference, rollout } = deployment;
    const shown = queryValue(visit, "rollout") as RolloutId | undefined ?? rollout?.id;
    return {
      title: `Rollout in ${reference}`,
      isWide: true,
      body: (
        <>
          {doneNotice(visit, texts)}
          <Heading
            title="Rollout"
            trail={[
              { label: "Deployments", href: link(visit, ["deployments"]) },
              { label: isolated(reference), href: link(visit, ["deployments", id]) },
            ]}
            lede="A share of the callers gets a candidate, and the others the version that is live."
          />
          {shown === undefined ? await startView(visit, deployment) : await numbersView(visit, deployment, shown)}
        </>
      ),
    };
  },
  async act(visit) {
    const { id: workspaceId } = workspaceOf(visit), id = visit.params.deployId as DeploymentId;
    const action = formValue(visit, "do"), revision = numberOf(visit, "revision");
    const input = { id, workspaceId, note: formValue(visit, "note"), ifRevision: revision };
    const version = numberOf(visit, "version");
    const path = ["deployments", id, "rollout"];
    if (action === "complete") {
      const result = await visit.call(promoteDeployment, { ...input, version });
      return afterChange(visit, result, link(visit, ["deployments", id], { done: "promote" }));
    }
    if (action === "stop") {
      const { changed } = await visit.call(stopRollout, input);
      return { redirect: link(visit, ["deployments", id], { done: changed ? "stopped" : "unchanged" }) };
    }
    if (action !== "start" && action !== "change") {
      throw wrongField("do", "one of start, change, complete, stop");
    }
    // The form shows the guard that there is: an empty field removes it.
    const guard = formValue(visit, "guard") ?? null;
    const certain = guard === null && action === "change" ? undefined : numberOf(visit, "certain");
    const result = await withLabels(
      (member) => labels[member],
      // A missing value is refused by its name.
      () => visit.call(setRollout, { ...input, version, percent: numberOf(visit, "percent")!, guard, certain }),
    );
    return afterChange(visit, result, link(visit, path, { done: result.changed ? action : "unchanged" }));
  },
};

const texts = {
  start: "The rollout has begun. Applications get both versions within 15 seconds.",
  change: "The rollout is changed. Who has the candidate keeps it while the share grows.",
  unchanged: "Nothing had to be changed.",
};

const labels: Record<string, string> = { percent: "Percent", guard: "Guard", certain: "Certain" };

/** A number that the form sent, which the operation checks further. */
function numberOf(visit: ConsoleRequest, name: string): number | undefined {
  const text = formValue(visit, name);
  if (text === undefined) return undefined;
  const value = readDecimal(text);
  if (Number.isNaN(value)) throw invalidField(name, `${labels[name] ?? name} must be a number`, "a number");
  return value;
}

type ShareFieldsProps = { visit: ConsoleRequest; rollout: Deployment["rollout"] };

/** Fields for the share of the candidate, the guard that stops the rollout by itself, and its confidence level. */
const ShareFields = ({ visit, rollout }: ShareFieldsProps): Html => (
  <>
    <Field
      {...given(visit, "percent", labels.percent!, rollout?.percent ?? 10)}
      isRequired
      hint="The share of the callers that gets the candidate, from 0.1 to 100 in steps of 0.1."
    />
    <Field
      {...given(visit, "guard", labels.guard!, rollout?.guard)}
      hint={
        <>
          Optional. Stops the rollout by itself when the candidate is beyond a limit, such as{" "}
          <code>failures=+2%,p95=+20%</code>.{rollout?.guard ? " If empty, the guard is removed." : ""}
        </>
      }
    />
    <Field
      {...given(visit, "certain", labels.certain!, rollout?.certain)}
      hint="How certain the records must make that, in percent. If empty: 99."
    />
  </>
);

async function startView(visit: ConsoleRequest, deployment: Deployment): Promise<Html> {
  const { reference, currentVersion, revision, isActive, isProtected, archivedAt } = deployment;
  if (!isActive || archivedAt !== null) {
    return (
      <Empty title="No rollout">
        {isolated(reference)} is {archivedAt === null ? "off" : "archived"}, so that no rollout can be started.
      </Empty>
    );
  }
  const version = queryVersion(visit, "version"), isOther = version !== undefined && version !== currentVersion;
  const isRequest = isRequested(visit, deployment, setRollout);
  return (
    <>
      {await versionChoice(visit, deployment, version)}
      {version === currentVersion && <p>Version {version} is live already. A rollout needs another version.</p>}
      {isOther && (
        <>
          <Guarded visit={visit} operation={setRollout} isProtected={isProtected}>
            <div class="panel">
              <p>
                <strong>v{version}</strong> to a share, <strong>v{currentVersion}</strong> to the others
              </p>
              {requestNotice(isRequest)}
              <Form submit={submitText(`Start with v${version}`, isRequest)}>
                <HiddenField name="do" value="start" />
                <HiddenField name="revision" value={revision} />
                <HiddenField name="version" value={version} />
                <ShareFields visit={visit} rollout={null} />
                <NoteField visit={visit} />
              </Form>
            </div>
          </Guarded>
          {await differenceView(visit, deployment, currentVersion, version)}
        </>
      )}
    </>
  );
}

async function numbersView(visit: ConsoleRequest, deployment: Deployment, id: RolloutId): Promise<Html> {
  const { promptId, currentVersion, isProtected, rollout: active } = deployment;
  const stats = await visit.call(readRolloutStats, { id: deployment.id, rollout: id, difference: wantedOf(visit) });
  const { rollout } = stats, { baseVersion, version, guard, certain } = rollout;
  return (
    <>
      <Facts>
        <Fact label="Candidate">{versionLink(visit, promptId, version)}</Fact>
        <Fact label="Base">{versionLink(visit, promptId, baseVersion)}</Fact>
        <Fact label={rollout.endedAt === null ? "Share" : "Last share"}>{shareText(rollout)}</Fact>
        <Fact label="Started">
          {ago(rollout.startedAt, visit.now)}
          {rollout.startedBy !== "" && [" by ", isolated(rollout.startedBy)]}
        </Fact>
        <Fact label="State">
          {outcomeText(rollout)}
          {rollout.endedAt !== null && [", ", ago(rollout.endedAt, visit.now)]}
        </Fact>
        <Fact label="Guard">{guard === null ? "none" : `${guard} at ${certain} %`}</Fact>
        <Fact label="Why">{rollout.note === "" ? dash : isolated(rollout.note)}</Fact>
      </Facts>
      {active?.id === id && (
        <Section title="Change">
          <Guarded visit={visit} operation={setRollout} isProtected={isProtected}>
            {changeForm(visit, deployment, active)}
          </Guarded>
        </Section>
      )}
      {active?.id !== id && (
        <p>
          Version {currentVersion} is live now.{" "}
          <a href={link(visit, ["deployments", deployment.id, "rollout"])}>
            {active === null ? "Start another rollout" : `In progress: ${shareText(active)}`}
          </a>
        </p>
      )}
      <Section title="What the records show">
        <Filters>
          {queryValue(visit, "rollout") !== undefined && <HiddenField name="rollout" value={id} />}
          <Field
            label="Difference to tell (points or %)"
            name="difference"
            value={queryValue(visit, "difference")}
            placeholder="2 points, 10 %"
          />
        </Filters>
        {armsView(visit, stats)}
        {stats.isFeedbackLeftOut && <p class="hint">{feedbackNotCompared}.</p>}
      </Section>
      <Section title="Shares over time">{stepsTable(visit, stats)}</Section>
      {await differenceView(visit, deployment, baseVersion, version)}
    </>
  );
}

/** One form whose buttons change the share, complete the rollout and stop it. Enter does the first. */
const changeForm = (
  visit: ConsoleRequest,
  deployment: Deployment,
  rollout: NonNullable<Deployment["rollout"]>,
): Html => {
  const { revision, currentVersion } = deployment, isRequest = isRequested(visit, deployment, setRollout);
  return (
    <form method="post" class="stack panel">
      {requestNotice(isRequest)}
      <HiddenField name="revision" value={revision} />
      <HiddenField name="version" value={rollout.version} />
      <ShareFields visit={visit} rollout={rollout} />
      <NoteField visit={visit} />
      <p class="actions">
        <button class="primary" name="do" value="change">{submitText("Change the share or guard", isRequest)}</button>
        <button name="do" value="complete" formnovalidate>
          {submitText(`Complete: promote v${rollout.version}`, isRequest)}
        </button>
        <button class="danger" name="do" value="stop" formnovalidate>Stop: all get v{currentVersion}</button>
      </p>
    </form>
  );
};

/** The difference whose need of records is asked for. */
function wantedOf(visit: ConsoleRequest): number | undefined {
  const text = queryValue(visit, "difference");
  if (text === undefined) return undefined;
  const value = readDecimal(text);
  if (!(value > 0 && value < 100)) throw wrongField("difference", "a number above 0 and below 100");
  return value;
}

async function differenceView(
  visit: ConsoleRequest,
  { promptId }: Deployment,
  from: number,
  to: number,
): Promise<Html> {
  return <Section title="How the texts differ">{(await readDifference(visit, promptId, from, to)).difference}</Section>;
}
