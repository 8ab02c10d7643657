// The filters of records as fields and as a query. Their names are those of the query, so that a view can be sent to a colleague.
import { markup } from "../html.ts";
import type { Html } from "../html.ts";
import { asked, askedNumber, workspaceOf } from "../page.ts";
import type { Visit } from "../page.ts";
import { checkbox, field, select } from "../parts/form.ts";
import { rangeOf, spanOptions } from "./inputs.ts";

/** The filter in the query. */
export const filterIn = (visit: Visit) => ({
  sessionId: asked(visit, "session"),
  status: asked(visit, "status"),
  failures: asked(visit, "failures") === "yes" ? true : undefined,
  promptVersion: askedNumber(visit, "version"),
  model: asked(visit, "model"),
  slowerThan: askedNumber(visit, "slower"),
  moreTokensThan: askedNumber(visit, "tokens"),
  costlierThan: asked(visit, "costlier"),
  where: asked(visit, "where"),
  text: asked(visit, "text"),
  ...rangeOf(visit),
});

const more = ["session", "version", "model", "slower", "tokens", "costlier", "where", "from", "to", "order"];

/** The fields of the filter. Those that are rarely used are folded away unless one of them is set. */
export function filterFields(visit: Visit): Html {
  const { statuses } = workspaceOf(visit);
  const value = (name: string) => asked(visit, name);
  const names = statuses.map(({ name }) => name);
  const status = value("status");
  const known = status === undefined || names.includes(status) ? names : [...names, status];
  return markup`${
    field({ label: "Text", name: "text", type: "search", value: value("text"), placeholder: "In input or output" })
  }${
    statuses.length === 0 ? field({ label: "Status", name: "status", value: status }) : select({
      label: "Status",
      name: "status",
      value: status,
      options: [["", "Any status"], ...known.map((name) => [name, name] as const)],
    })
  }${select({ label: "Time", name: "last", value: value("last"), options: spanOptions })}${
    statuses.some(({ isFailure }) => isFailure) && checkbox("Only failures", "failures", value("failures") === "yes")
  }<details class="more"${
    more.some((name) => value(name) !== undefined) && markup` open`
  }><summary>More filters</summary><div class="row">${
    field({ label: "Session", name: "session", value: value("session") })
  }${field({ label: "Version", name: "version", type: "number", value: value("version") })}${
    field({ label: "Model", name: "model", value: value("model") })
  }${field({ label: "Slower than (ms)", name: "slower", type: "number", value: value("slower") })}${
    field({ label: "More tokens than", name: "tokens", type: "number", value: value("tokens") })
  }${field({ label: "Costlier than (USD)", name: "costlier", value: value("costlier"), placeholder: "0.01" })}${
    field({ label: "Property", name: "where", value: value("where"), placeholder: "trace_id=4bf92f35" })
  }${field({ label: "From (UTC)", name: "from", type: "datetime-local", value: value("from") })}${
    field({ label: "To (UTC)", name: "to", type: "datetime-local", value: value("to") })
  }${
    select({
      label: "Order",
      name: "order",
      value: value("order"),
      options: [["", "Newest first"], ["oldest", "Oldest first"]],
    })
  }</div></details>`;
}
