// A change request: its difference, the numbers of both versions, and the buttons that approve, decline and withdraw
// it.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { notFound, wrongField } from "../../common/errors.ts";
import type { ChangeRequestId } from "../../common/ids.ts";
import {
  approveChangeRequest,
  declineChangeRequest,
  getChangeRequest,
  operationOf,
  withdrawChangeRequest,
} from "../../management/deployments/change-request-operations.ts";
import { makerOf } from "../../management/deployments/change-requests.ts";
import type { ChangeRequest } from "../../management/deployments/change-requests.ts";
import { getDeployment } from "../../management/deployments/deployments.ts";
import { hasRole } from "../../management/kernel/operation.ts";
import { isSamePerson } from "../../management/kernel/people.ts";
import { ago } from "../frame/format.tsx";
import { breakable, Fragment, h, isolated } from "../frame/html.ts";
import type { Html, Part } from "../frame/html.ts";
import { formValue, link, workspaceOf } from "../frame/page.ts";
import type { ConsoleRequest, Page } from "../frame/page.ts";
import { stateChip, wordsOf } from "./change-parts.tsx";
import { versionLink } from "../frame/chips.tsx";
import { readDifference } from "../frame/diff.tsx";
import { Fact, Facts, Section } from "../frame/elements.tsx";
import { Area, Form, given, Guarded, HiddenField, NoteField } from "../frame/form.tsx";
import { withLabels } from "../frame/inputs.tsx";
import { outcomeOf } from "./deployment-change.tsx";

/** The request of the page. It must be of the workspace in the path. */
async function findRequest(visit: ConsoleRequest): Promise<ChangeRequest> {
  const id = visit.params.changeId as ChangeRequestId;
  const request = await visit.call(getChangeRequest, { id });
  if (request.workspaceId !== workspaceOf(visit).id) throw notFound("Change request", id);
  return request;
}

export const changePage: Page = {
  path: "/:workspaceId/changes/:changeId",
  async show(visit) {
    const request = await findRequest(visit), { now } = visit;
    const { id, reference, deployId, promptId, version, note, createdAt, expiresAt, state } = request;
    const { decidedBy, deciderOwner, decidedAt, reason } = request;
    return {
      title: `Change of ${reference}`,
      heading: <>Change of {breakable(reference)}</>,
      done: {
        requested: "The change is requested. Nothing changes before another person approves it.",
        approve: "The change is approved, and applied.",
        decline: "The change is declined.",
        withdraw: "The change is withdrawn.",
      },
      body: (
        <>
          <Facts>
            <Fact label="Change">
              {wordsOf(request)} {stateChip(request)}
            </Fact>
            <Fact label="Deployment">
              <a href={link(visit, ["deployments", deployId])}>{breakable(reference)}</a>
            </Fact>
            {version !== null && <Fact label="Version">{versionLink(visit, promptId, version)}</Fact>}
            <Fact label="Requested">
              {ago(createdAt, now)} by {isolated(makerOf(request))}
            </Fact>
            <Fact label="Why">{note === "" ? "–" : isolated(note)}</Fact>
            {state === "open" && <Fact label="Expires">{ago(expiresAt, now)}</Fact>}
            {decidedAt !== null && (
              <Fact label="Ended">
                {ago(decidedAt, now)} by {isolated(deciderOwner ?? decidedBy ?? "")}
              </Fact>
            )}
            {reason !== null && <Fact label="Reason">{isolated(reason)}</Fact>}
            <Fact label="Id" code={id} />
          </Facts>
          {state === "open" && formsOf(visit, request)}
          {await differenceOf(visit, request)}
        </>
      ),
    };
  },
  async act(visit) {
    const { id } = await findRequest(visit), todo = formValue(visit, "do");
    if (todo === "approve") await visit.call(approveChangeRequest, { id, note: formValue(visit, "note") });
    else if (todo === "decline") {
      const reason = formValue(visit, "reason") ?? "";
      await withLabels(
        (member) => member === "reason" ? "Reason" : undefined,
        () => visit.call(declineChangeRequest, { id, reason }),
      );
    } else if (todo === "withdraw") await visit.call(withdrawChangeRequest, { id });
    else throw wrongField("do", "one of approve, decline, withdraw");
    return { redirect: link(visit, ["changes", id], { done: todo }) };
  },
};

/** Difference, and for an open request the numbers of both versions. */
async function differenceOf(visit: ConsoleRequest, request: ChangeRequest): Promise<Part> {
  const { deployId, promptId, liveVersion, version, state } = request;
  if (version === null || version === liveVersion) return undefined;
  if (state === "open") {
    const { id: workspaceId } = workspaceOf(visit);
    return await outcomeOf(visit, await visit.call(getDeployment, { id: deployId, workspaceId }), version);
  }
  const { difference } = await readDifference(visit, promptId, liveVersion, version);
  return <Section title="What differed">{difference}</Section>;
}

/** Forms for the caller to act on an open request. */
function formsOf(visit: ConsoleRequest, request: ChangeRequest): Html {
  if (isSamePerson(visit.caller, request)) {
    return (
      <Guarded visit={visit} operation={withdrawChangeRequest}>
        <p>You requested this. Another person must approve it.</p>
        <Form submit="Withdraw the request" kind="plain">
          <HiddenField name="do" value="withdraw" />
        </Form>
      </Guarded>
    ) as Html;
  }
  const { role } = operationOf(request);
  return (
    <>
      <Guarded
        visit={visit}
        operation={hasRole(approveChangeRequest, role) ? approveChangeRequest : { role }}
      >
        <div class="panel">
          <Form submit="Approve and apply">
            <HiddenField name="do" value="approve" />
            <NoteField visit={visit} />
          </Form>
        </div>
      </Guarded>
      <Guarded visit={visit} operation={declineChangeRequest}>
        <details open={visit.refusal !== undefined && visit.form.get("do") === "decline"}>
          <summary>Decline</summary>
          <Form submit="Decline the change" kind="danger">
            <HiddenField name="do" value="decline" />
            <Area {...given(visit, "reason", "Reason")} hint="Why. Who requested it reads this." rows={2} />
          </Form>
        </details>
      </Guarded>
    </>
  );
}
