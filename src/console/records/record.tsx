// A record: its input and output as a conversation where they hold messages, and everything else that was submitted.
// All of it was written by strangers, and is shown as text.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { invalidField, wrongField } from "../../common/errors.ts";
import type { RecordId } from "../../common/ids.ts";
import { indent, stringify } from "../../common/json-text.ts";
import { statusOf, streamed } from "../../http/respond.ts";
import { findConversation } from "../../management/records/conversation.ts";
import { getDeployment } from "../../management/deployments/deployments.ts";
import type { Deployment } from "../../management/deployments/deployments.ts";
import { showFeedback } from "../../management/feedback/feedback.ts";
import { listRecordFigures } from "../../management/records/record-figures.ts";
import type { RecordFigures } from "../../management/records/record-figures.ts";
import { deleteDiagnosis, getDiagnosis } from "../../management/records/records.ts";
import { getPromptVersion } from "../../management/prompts/versions.ts";
import type { Diagnosis } from "../../schema/ledger.ts";
import { textOf, valuesOf } from "../frame/conversation.ts";
import type { PartName } from "../frame/conversation.ts";
import { changeFeedback, findFeedback, isAboutFeedback, keptQuery } from "./feedback.ts";
import { dash, duration, exactTime, number, sizeText, usd } from "../frame/format.tsx";
import { breakable, Fragment, h, isolated } from "../frame/html.ts";
import type { Html, Part } from "../frame/html.ts";
import { link, queryValue, workspaceOf } from "../frame/page.ts";
import type { ConsoleRequest, Page, Resource } from "../frame/page.ts";
import { statusChip, versionLink } from "../frame/chips.tsx";
import { contentView, Messages, mostCharacters } from "../frame/content.tsx";
import { Fact, Facts, Notice, Section } from "../frame/elements.tsx";
import { FeedbackSection } from "./feedback-parts.tsx";
import { deleteForm } from "../frame/form.tsx";
import { rawTextHeaders } from "../frame/safety.ts";
import { findNeighbours } from "./records.tsx";
import type { Neighbour } from "./records.tsx";

// Shown above, or set by the service.
const shownMembers = [
  "id",
  "promptVersion",
  "rollout",
  "createdAt",
  "status",
  "sessionId",
  "latency",
  "startAt",
  "endAt",
];
shownMembers.push("deployId", "reference", "keyId", "statusName", "feedback");
const mostJson = 8_192; // characters of what is shown as JSON

export const recordPage: Page = {
  path: "/:workspaceId/records/:recordId",
  async show(visit) {
    const { id: workspaceId } = workspaceOf(visit), id = visit.params.recordId as RecordId;
    const [{ record, deployment, served }, { items: [figures] }, neighbours, feedback] = await Promise.all([
      findServed(visit),
      visit.call(listRecordFigures, { workspaceId, ids: id }),
      findNeighbours(visit, id),
      findFeedback(visit, id),
    ]);
    const { keyId, promptVersion, content, ...others } = record, { startAt, endAt } = valuesOf(record);
    const more = without({ keyId, promptVersion, ...others }, shownMembers);
    return {
      title: `Record ${id}`,
      isWide: true,
      heading: (
        <>
          Record <span class="mono">…{id.slice(-10)}</span>
        </>
      ),
      sectionQuery: keptQuery(visit),
      actions: (
        <nav class="actions" aria-label="Records">
          {neighbourLink(visit, "Previous", "prev", "k", neighbours.previous)}
          {neighbourLink(visit, "Next", "next", "j", neighbours.next)}
        </nav>
      ),
      body: (
        <>
          <Facts>
            <RecordFacts visit={visit} record={record} deployment={deployment} />
            <Fact label="Tokens">{tokensOf(figures)}</Fact>
            <Fact label="Cost">{costOf(figures)}</Fact>
            <Fact label="Model">{figures?.model ? isolated(figures.model) : dash}</Fact>
            {startAt !== null && <Fact label="Started">{exactTime(startAt)}</Fact>}
            {endAt !== null && <Fact label="Ended">{exactTime(endAt)}</Fact>}
            <Fact label="Key">
              <a href={link(visit, ["keys", keyId])}>
                <code>…{keyId.slice(-8)}</code>
              </a>
            </Fact>
            <Fact label="Id" code={id} />
          </Facts>
          <div class="halves">
            <Section title="Input">{partView(visit, record, "input")}</Section>
            <Section title="Output">{partView(visit, record, "output")}</Section>
          </div>
          <FeedbackSection
            visit={visit}
            feedback={feedback}
            whole={<a href={link(visit, ["records", id, "text"], { part: "feedback" })}>Show all as text</a>}
          />
          {Object.keys(more).length > 0 && <Section title="Metadata">{jsonView(visit, more)}</Section>}
          <details>
            <summary>The prompt that was served: version {promptVersion}</summary>
            <p></p>
            {contentView(served)}
          </details>
          <details>
            <summary>As it was submitted</summary>
            <p></p>
            {jsonView(visit, { content })}
          </details>
          {deleteForm(
            visit,
            deleteDiagnosis,
            "record",
            "Its content is removed for good. The call stays in the ledger, so that it still balances.",
          )}
        </>
      ),
    };
  },
  async act(visit) {
    const { record } = await findRecord(visit), id = record.id as RecordId;
    if (isAboutFeedback(visit)) {
      const done = await changeFeedback(visit, id);
      return { redirect: `${link(visit, ["records", id], { ...keptQuery(visit), done })}#feedback` };
    }
    if (visit.form.get("do") !== "delete") throw wrongField("do", "one of feedback, withdraw, delete");
    await visit.call(deleteDiagnosis, { id });
    return { redirect: link(visit, ["records"], keptQuery(visit)) };
  },
};

/** Link to a neighbouring record, keeping the filter, or a placeholder without one. */
function neighbourLink(
  visit: ConsoleRequest,
  label: string,
  rel: string,
  key: string,
  neighbour: Neighbour,
): Html {
  const { outcome, order } = neighbour, query = keptQuery(visit);
  if (outcome === "none") return <span class="button" aria-disabled="true">{label}</span>;
  if (outcome === "found") {
    const href = link(visit, ["records", neighbour.item.id], query);
    return <a class="button" rel={rel} href={href} aria-keyshortcuts={key}>{label}</a>;
  }
  const href = link(visit, ["records"], { ...query, order, cursor: neighbour.cursor });
  return (
    <a class="button" href={href} aria-keyshortcuts={key} title="Go on in the list">
      {label}: search ran out of time
    </a>
  );
}

function tokensOf(figures: RecordFigures | undefined): Part {
  if (!figures?.tokens) return dash;
  const { prompt, completion, cached, written } = figures.tokens;
  return (
    <>
      {number(prompt ?? 0)} in{cached > 0 && <>{` (`}{number(cached)} cached)</>}
      {written > 0 && <>{` (`}{number(written)} written to a cache)</>}, {number(completion ?? 0)} out
    </>
  );
}

const costSources = { record: "named by the record", provider: "reported by the provider", prices: undefined };

function costOf(figures: RecordFigures | undefined): Part {
  const { cost = null, costSource = null } = figures ?? {};
  const source = costSource === null ? undefined : costSources[costSource];
  return source === undefined ? usd(cost) : [usd(cost), <p class="hint">{source}</p>];
}

/** A part of a record, or its feedback, as plain text, whole. */
export const recordText: Resource = {
  path: "/:workspaceId/records/:recordId/text",
  async answer(visit) {
    const { record } = await findRecord(visit), part = queryValue(visit, "part") ?? "";
    if (!["input", "output", "all", "feedback"].includes(part)) {
      throw invalidField("part", "part must be input, output, all or feedback", "input, output, all or feedback");
    }
    if (part === "feedback") return streamed(feedbackText(visit, record.id as RecordId), rawTextHeaders(), () => {});
    const text = part === "all" ? indent(stringify(record)) : textOf(record, part as PartName) ?? "";
    return { status: statusOf.ok, headers: rawTextHeaders(), body: text };
  },
};

/** All feedback on a record as JSON, of which one page is in memory at a time. */
async function* feedbackText(visit: ConsoleRequest, id: RecordId): AsyncGenerator<string> {
  let separator = "\n", hasEarlier = false, cursor: string | undefined;
  const add = (piece: object) => {
    const text = separator + indent(stringify(piece)).replace(/^/gm, "    ");
    separator = ",\n";
    return text;
  };
  yield '{\n  "feedback": [';
  do {
    const { feedback, earlier, nextCursor } = await visit.call(showFeedback, { id, cursor });
    cursor = nextCursor ?? undefined;
    yield feedback.map(add).join("");
    if (!hasEarlier && (earlier.length > 0 || cursor === undefined)) {
      yield '\n  ],\n  "earlier": [';
      [separator, hasEarlier] = ["\n", true];
    }
    yield earlier.map(add).join("");
  } while (cursor !== undefined);
  yield "\n  ]\n}";
}

/** The record in the path and its deployment, which must be of the workspace in the path. */
export async function findRecord(visit: ConsoleRequest): Promise<{ record: Diagnosis; deployment: Deployment }> {
  const record = await visit.call(getDiagnosis, { id: visit.params.recordId as RecordId });
  const input = { id: record.deployId, workspaceId: workspaceOf(visit).id };
  return { record, deployment: await visit.call(getDeployment, input) };
}

/** The record in the path, its deployment, and its version of the prompt. */
async function findServed(visit: ConsoleRequest) {
  const { record, deployment } = await findRecord(visit);
  const served = await visit.call(getPromptVersion, { id: deployment.promptId, version: record.promptVersion });
  return { record, deployment, served };
}

/** An input or output as a conversation, and as it is. */
export function partView(visit: ConsoleRequest, record: Diagnosis, name: PartName): Html {
  const text = textOf(record, name);
  if (text === undefined) return <p>{dash}</p>;
  const conversation = findConversation(text), whole = wholeLink(visit, name, text.length);
  return (
    <>
      {cutNotice(text, mostCharacters, whole)}
      {conversation === undefined
        ? (
          <article class="message">
            <pre dir="auto">{text.slice(0, mostCharacters)}</pre>
          </article>
        )
        : (
          <>
            <Messages texts={conversation.messages} whole={whole} />
            {conversation.rest !== undefined && (
              <pre class="panel mono">{indent(conversation.rest).slice(0, mostJson)}</pre>
            )}
            <p class="hint">{whole} as text</p>
          </>
        )}
    </>
  );
}

/** A link to a part of the record as plain text. */
const wholeLink = (visit: ConsoleRequest, part: PartName | "all", length: number): Html => (
  <a href={link(visit, ["records", visit.params.recordId!, "text"], { part })}>
    Show all {sizeText(length, "characters")}
  </a>
);

const cutNotice = (text: string, most: number, whole: Html): Part =>
  text.length > most && <Notice kind="info">Cut after {most / 1024} kB. {whole}</Notice>;

function jsonView(visit: ConsoleRequest, value: object): Html {
  const text = indent(stringify(value));
  return (
    <>
      {cutNotice(text, mostJson, wholeLink(visit, "all", text.length))}
      <pre class="panel mono">{text.slice(0, mostJson)}</pre>
    </>
  );
}

const without = (members: object, names: readonly string[]): object =>
  Object.fromEntries(Object.entries(members).filter(([name, value]) => !names.includes(name) && value !== null));

type RecordFactsProps = { visit: ConsoleRequest; record: Diagnosis; deployment: Deployment };

/** The facts that every page of a record begins with. */
export function RecordFacts({ visit, record, deployment }: RecordFactsProps): Html {
  const { status, sessionId: session, latency } = valuesOf(record), { rollout } = record;
  return (
    <>
      <Fact label="Status">{statusChip(visit, status)}</Fact>
      <Fact label="Recorded">{exactTime(record.createdAt)}</Fact>
      <Fact label="Latency">{duration(latency)}</Fact>
      <Fact label="Version">{versionLink(visit, deployment.promptId, record.promptVersion)}</Fact>
      <Fact label="Deployment">
        <a href={link(visit, ["deployments", deployment.id])}>{breakable(deployment.reference)}</a>
      </Fact>
      {typeof rollout === "string" && (
        <Fact label="Rollout">
          <a href={link(visit, ["deployments", deployment.id, "rollout"], { rollout })}>
            Both versions
          </a>
        </Fact>
      )}
      <Fact label="Session">
        <a href={link(visit, ["session"], { id: session })}>{isolated(session.slice(0, 200))}</a>
      </Fact>
    </>
  );
}
