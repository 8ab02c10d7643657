// A record: its input and output as a conversation where they hold messages, and everything else that was submitted. All of it
// was written by strangers, and is shown as text.
import { invalid } from "../../common/errors.ts";
import type { RecordId } from "../../common/ids.ts";
import { indent, stringify } from "../../common/json-text.ts";
import { findConversation } from "../../management/conversation.ts";
import { getDeployment } from "../../management/deployments.ts";
import type { Deployment } from "../../management/deployments.ts";
import { deleteDiagnosis, getDiagnosis } from "../../management/records.ts";
import { getPromptVersion } from "../../management/versions.ts";
import type { Diagnosis } from "../../schema/ledger.ts";
import { dash, duration, sizeText } from "../format.tsx";
import { isolated, markup } from "../html.ts";
import type { Html, Part } from "../html.ts";
import { asked, link, workspaceOf } from "../page.ts";
import type { Page, Resource, Visit } from "../page.ts";
import { statusChip, versionLink } from "../parts/chips.tsx";
import { textOf, valuesOf } from "../record-values.ts";
import type { PartName } from "../record-values.ts";
import { contentView, messagesView, mostCharacters } from "../parts/content.tsx";
import { exactTime } from "../parts/exact-time.tsx";
import { form, guarded, hiddenField } from "../parts/form.tsx";
import { heading, section } from "../parts/heading.tsx";
import { notice } from "../parts/notice.tsx";
import { facts } from "../parts/table.tsx";
import { rawTextHeaders } from "../safety.ts";
import { statusOf } from "../../http/respond.ts";

// What stands above, or is of the service.
const shownMembers = ["id", "promptVersion", "createdAt", "status", "sessionId", "latency", "startAt", "endAt"];
shownMembers.push("deployId", "reference", "keyId", "statusName");
const mostJson = 8_192; // characters of what is shown as JSON

export const recordPage: Page = {
  path: "/:workspaceId/records/:recordId",
  section: "records",
  async show(visit) {
    const { record, deployment } = await findRecord(visit);
    const { deployId } = record;
    const { id, promptVersion, createdAt } = record;
    const { status, sessionId: session, latency, startAt, endAt } = valuesOf(record);
    const { content, ...others } = record;
    const more = without(others, shownMembers);
    return {
      title: `Record ${id}`,
      isWide: true,
      body: markup`${
        heading({
          title: markup`Record <span class="mono">…${id.slice(-10)}</span>`,
          trail: [{ label: "Records", href: link(visit, ["records"], { deployment: deployId }) }],
        })
      }${
        facts([
          ["Recorded", exactTime(createdAt)],
          ["Status", statusChip(visit, status)],
          ["Latency", duration(latency)],
          ["Version", versionLink(visit, deployment.promptId, promptVersion)],
          [
            "Deployment",
            markup`<a href="${link(visit, ["deployments", deployment.id])}">${isolated(deployment.reference)}</a>`,
          ],
          [
            "Session",
            markup`<a href="${link(visit, ["session"], { id: session })}">${isolated(session.slice(0, 200))}</a>`,
          ],
          startAt !== null ? ["Started", exactTime(startAt)] : undefined,
          endAt !== null ? ["Ended", exactTime(endAt)] : undefined,
          ["Key", markup`<a href="${link(visit, ["keys", record.keyId])}"><code>…${record.keyId.slice(-8)}</code></a>`],
          ["Id", markup`<code>${id}</code>`],
        ])
      }<div class="halves">${section("Input", partView(visit, record, "input"))}${
        section("Output", partView(visit, record, "output"))
      }</div>${Object.keys(more).length > 0 && section("Submitted besides", jsonView(visit, more))}${await versionView(
        visit,
        deployment,
        promptVersion,
      )}<details><summary>As it was submitted</summary><p></p>${
        jsonView(visit, { content })
      }</details><details><summary>Delete</summary>${
        guarded(visit, deleteDiagnosis, () =>
          form({
            submit: "Delete this record",
            kind: "danger",
            body:
              markup`<p>Its content is removed for good. The call stays in the ledger, so that it still balances.</p>${
                hiddenField("do", "delete")
              }`,
          }))
      }</details>`,
    };
  },
  async act(visit) {
    const { record: { id } } = await findRecord(visit);
    await visit.call(deleteDiagnosis, { id: id as RecordId });
    return { redirect: link(visit, ["records"], { deployment: asked(visit, "deployment") }) };
  },
};

/** A part of a record as plain text, whole. */
export const recordText: Resource = {
  path: "/:workspaceId/records/:recordId/text",
  async answer(visit) {
    const { record } = await findRecord(visit);
    const part = asked(visit, "part") ?? "";
    if (!["input", "output", "all"].includes(part)) throw invalid("part must be input, output or all");
    const text = part === "all" ? indent(stringify(record)) : textOf(record, part as PartName) ?? "";
    return { status: statusOf.ok, headers: rawTextHeaders(), body: text };
  },
};

/** The record in the path and its deployment, which must be of the workspace in the path. */
async function findRecord(visit: Visit): Promise<{ record: Diagnosis; deployment: Deployment }> {
  const record = await visit.call(getDiagnosis, { id: visit.params.recordId as RecordId });
  const input = { id: record.deployId, workspaceId: workspaceOf(visit).id };
  return { record, deployment: await visit.call(getDeployment, input) };
}

/** An input or output as a conversation, and as it is. */
function partView(visit: Visit, record: Diagnosis, name: PartName): Html {
  const text = textOf(record, name);
  if (text === undefined) return markup`<p>${dash}</p>`;
  const conversation = findConversation(text), whole = wholeLink(visit, name, text.length);
  return markup`${cutNotice(text, mostCharacters, whole)}${
    conversation === undefined
      ? markup`<article class="message"><pre dir="auto">${text.slice(0, mostCharacters)}</pre></article>`
      : markup`${messagesView(conversation.messages, whole)}${
        conversation.rest !== undefined &&
        markup`<pre class="panel mono">${indent(conversation.rest).slice(0, mostJson)}</pre>`
      }<p class="hint">${whole} as text</p>`
  }`;
}

/** A link to a part of the record as plain text. */
const wholeLink = (visit: Visit, part: PartName | "all", length: number): Html =>
  markup`<a href="${link(visit, ["records", visit.params.recordId!, "text"], { part })}">Show all ${
    sizeText(length, "characters")
  }</a>`;

const cutNotice = (text: string, most: number, whole: Html): Part =>
  text.length > most && notice("info", markup`Cut after ${most / 1024} kB. ${whole}`);

function jsonView(visit: Visit, value: object): Html {
  const text = indent(stringify(value));
  return markup`${cutNotice(text, mostJson, wholeLink(visit, "all", text.length))}<pre class="panel mono">${
    text.slice(0, mostJson)
  }</pre>`;
}

const without = (members: object, names: readonly string[]): object =>
  Object.fromEntries(Object.entries(members).filter(([name, value]) => !names.includes(name) && value !== null));

async function versionView(visit: Visit, { promptId }: Deployment, version: number): Promise<Html> {
  const content = await visit.call(getPromptVersion, { id: promptId, workspaceId: workspaceOf(visit).id, version });
  return markup`<details><summary>The prompt that was served: version ${version}</summary><p></p>${
    contentView(content)
  }</details>`;
}
