// Pages for refused requests.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import type { Refusal } from "../../common/errors.ts";
import type { Caller } from "../../management/kernel/operation.ts";
import { Fragment, h } from "./html.ts";
import type { Html } from "./html.ts";
import type { View } from "./page.ts";

const titles: Partial<Record<Refusal["kind"], string>> = {
  forbidden: "Your role may not do this",
  not_found: "Not found",
  gone: "Deleted",
  invalid: "Page unavailable",
  method_not_allowed: "This page has no actions",
  rate_limited: "Too many attempts",
  too_large: "Too large",
  overloaded: "The service is busy",
  unavailable: "The service is not available",
  internal: "Something went wrong",
};

/** Caller of a page, the relative path of the console, and the id of the request. */
type Asked = { caller: Caller | undefined; start: string; id: string };

/** Error page: the reason, and the next step. */
export function errorView(refusal: Refusal, request: Asked): View {
  const { kind, code, message } = refusal;
  const title = code === "cross_site" ? "Refused" : titles[kind] ?? "Refused";
  return {
    title,
    kind,
    body: (
      <>
        <h1>{title}</h1>
        <p>{code === "path_not_found" ? "There is no page with this address" : message}.</p>
        {nextStep(refusal, request)}
        <p>
          <a class="button" href={request.start}>Go to the start</a>
        </p>
      </>
    ),
  };
}

function nextStep({ kind, code }: Refusal, { caller, start, id }: Asked): Html | undefined {
  if (kind === "forbidden" && code !== "cross_site" && caller !== undefined) {
    const who = caller.actor === "" ? "the operator" : caller.actor;
    const where = caller.workspaceId === undefined ? "" : " in one workspace";
    return (
      <p>
        You are signed in as {who} with the role <strong>{caller.role}</strong>
        {where}. Ask an admin for a token that may.
      </p>
    );
  }
  if (code === "too_many_failures") {
    return (
      <p>
        If you have a token, <a href={`${start}sign-in`}>sign in</a>.
      </p>
    );
  }
  if (kind === "overloaded" || kind === "unavailable") return <p>Nothing was changed. Try again in a moment.</p>;
  if (kind === "internal") {
    return (
      <p>
        The log of the service says more, under the request <code>{id}</code>.
      </p>
    );
  }
  return undefined;
}
