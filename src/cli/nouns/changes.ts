// Shows change requests on the command line, and changes of deployments that became requests.
import {
  approveChangeRequest,
  declineChangeRequest,
  getChangeRequest,
  listChangeRequests,
  withdrawChangeRequest,
} from "../../management/deployments/change-request-operations.ts";
import { makerOf } from "../../management/deployments/change-requests.ts";
import type { ChangeRequest } from "../../management/deployments/change-requests.ts";
import type { DeploymentResult } from "../../management/deployments/deployments.ts";
import { compareStats } from "../../management/records/compare.ts";
import { diffVersions } from "../../management/prompts/renderings.ts";
import type { Call, CommandContext, Outcome } from "../frame/command.ts";
import { format, stripControls } from "../frame/format.ts";
import { present } from "../frame/operation-commands.ts";

const wordsOf = ({ fromState, toState }: ChangeRequest): string => `${fromState} → ${toState}`;

/** `greeting@production: version 1 → version 2 waits for an approval: see change show change_…` */
export const describeRequest = (request: ChangeRequest): string =>
  `${request.reference}: ${wordsOf(request)} waits for an approval: see change show ${request.id}`;

type Result = Pick<DeploymentResult, "request">;

/** Describes a requested change, and exits 3, because nothing has changed yet. Otherwise uses `otherwise`. */
export const orRequested = <T extends Result>(otherwise: (result: T) => Outcome) => (result: T): Outcome =>
  result.request === undefined ? otherwise(result) : {
    data: result,
    text: () => "",
    note: `Nothing has changed yet. ${describeRequest(result.request)}`,
    differs: true,
  };

const toRow = (request: ChangeRequest) => {
  const { createdAt, reference, state, note, id } = request;
  return { createdAt, reference, change: wordsOf(request), state, by: makerOf(request), note, id };
};

/** Text of a request: its facts, the difference of the versions, and how their records compare. */
async function showRequest(call: Call, request: ChangeRequest): Promise<Outcome> {
  const { id, reference, state, source, createdAt, expiresAt, note, decidedBy, deciderOwner, decidedAt, reason } =
    request;
  const decided = decidedAt === null ? { expiresAt } : { decidedBy: deciderOwner ?? decidedBy, decidedAt, reason };
  const asked = { id, reference, change: wordsOf(request), state, by: makerOf(request), source, createdAt, note };
  const differences = await describeDifference(call, request);
  return { data: request, text: () => `${format({ ...asked, ...decided })}${stripControls(differences)}` };
}

/** Difference between the live version and the requested one, and between their records. */
async function describeDifference(
  call: Call,
  { promptId, deployId, liveVersion, version, state }: ChangeRequest,
): Promise<string> {
  if (version === null || version === liveVersion) return "";
  const { diff } = await call(diffVersions, { id: promptId, from: liveVersion, to: version });
  if (state !== "open") return `\n${diff}`;
  const sides = { a: deployId, aVersion: liveVersion, b: deployId, bVersion: version };
  return `\n${diff}\n${(await call(compareStats, sides)).sentence}\n`;
}

/** Outcome of an ended request, in one sentence. */
const said = (data: ChangeRequest, note: string): Outcome => ({ data, text: () => "", note });

export const changePresentations = [
  present(listChangeRequests, {
    explanations: { deploy: "Only those of this deployment", waiting: "Only those that you may approve" },
    row: toRow,
  }),
  present(getChangeRequest, {
    run: async ({ call }: CommandContext, input) => await showRequest(call, await call(getChangeRequest, input)),
  }),
  present(approveChangeRequest, {
    show: (request) => said(request, `Applied to ${request.reference}: ${wordsOf(request)}`),
  }),
  present(declineChangeRequest, { show: (request) => said(request, "Declined. Nothing changes") }),
  present(withdrawChangeRequest, { show: (request) => said(request, "Withdrawn. Nothing changes") }),
];
