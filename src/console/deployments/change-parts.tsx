// Change requests in pages: their lists and states, and notices where a change takes an approval.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { isRequestable } from "../../management/deployments/change-request-operations.ts";
import { makerOf } from "../../management/deployments/change-requests.ts";
import type { ChangeRequest } from "../../management/deployments/change-requests.ts";
import type { Deployment, DeploymentResult } from "../../management/deployments/deployments.ts";
import { hasRole } from "../../management/kernel/operation.ts";
import { ago, excerpt } from "../frame/format.tsx";
import { breakable, h, isolated } from "../frame/html.ts";
import type { Html, Part } from "../frame/html.ts";
import { link } from "../frame/page.ts";
import type { ConsoleRequest } from "../frame/page.ts";
import { Chip } from "../frame/chips.tsx";
import { Notice, Table } from "../frame/elements.tsx";

const kinds = { open: "", applied: "live", declined: "bad", withdrawn: "off", expired: "off", stale: "off" } as const;

export const stateChip = ({ state }: ChangeRequest): Html => <Chip kind={kinds[state]}>{state}</Chip>;

export const wordsOf = ({ fromState, toState }: ChangeRequest): Part => [isolated(fromState), " → ", isolated(toState)];

/** True if a change becomes a request. An owner switches the need for approvals off at once. */
export const isRequested = (
  { caller }: ConsoleRequest,
  { approvals }: Deployment,
  operation: { id: string },
): boolean =>
  approvals > 0 && isRequestable(operation) &&
  !(/^(un)?protectDeployment$/.test(operation.id) && hasRole(caller, "owner"));

/** The text of a button that may open a request. */
export const submitText = (text: string, isRequest: boolean): string => isRequest ? `Request: ${text}` : text;

export const requestNotice = (isRequest: boolean): Part =>
  isRequest && <Notice kind="info">This changes nothing yet. Another person must approve it.</Notice>;

/** Redirects after a change: to the request that it has opened, or else to `otherwise`. */
export const afterChange = (
  visit: ConsoleRequest,
  { request }: Pick<DeploymentResult, "request">,
  otherwise: string,
) => ({
  redirect: request === undefined ? otherwise : link(visit, ["changes", request.id], { done: "requested" }),
});

const maxNote = 60; // characters, of which a list has many

export const changesTable = (visit: ConsoleRequest, caption: string, requests: readonly ChangeRequest[]): Html => (
  <Table
    caption={caption}
    rows={requests}
    columns={[
      {
        label: "Deployment",
        isHead: true,
        cell: ({ id, reference }) => <a href={link(visit, ["changes", id])}>{breakable(reference)}</a>,
      },
      { label: "Change", cell: wordsOf },
      { label: "State", cell: stateChip },
      { label: "Who", cell: (request) => isolated(makerOf(request)) },
      { label: "Why", isMain: true, cell: ({ note }) => excerpt(note, maxNote) },
      { label: "Requested", cell: ({ createdAt }) => ago(createdAt, visit.now) },
    ]}
  />
);

/** Notice of a deployment's open request. */
export const openNotice = (visit: ConsoleRequest, request: ChangeRequest | undefined): Part =>
  request && (
    <Notice kind="info">
      {isolated(makerOf(request))} requested {wordsOf(request)}.{" "}
      <a href={link(visit, ["changes", request.id])}>Look at the request</a>
    </Notice>
  );
