// What the statuses of a workspace's records mean, and which count as failures: a row for each.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import type { StatusName } from "../../management/statuses.ts";
import { invalid } from "../../common/errors.ts";
import { exact, h } from "../html.ts";
import type { Html } from "../html.ts";
import type { Visit } from "../page.ts";
import { Form, HiddenField } from "../parts/form.tsx";

const spareRows = 3;

/** A row for each status, and some for new ones. A row without a code is left out. */
export const StatusesForm = ({ visit, statuses }: { visit: Visit; statuses: readonly StatusName[] }): Html => (
  <Form submit="Store statuses">
    <HiddenField name="do" value="statuses" />
    <p class="hint">
      Applications put a number into each record. Its name shows in lists and statistics. To remove a row, empty its
      number.
    </p>
    <table>
      <caption class="hide">Statuses</caption>
      <thead>
        <tr>
          <th scope="col">Number</th>
          <th scope="col">Name</th>
          <th scope="col">Counts as a failure</th>
        </tr>
      </thead>
      <tbody>
        {Array.from({ length: statuses.length + spareRows }, (_, index) => rowOf(visit, index, statuses[index]))}
      </tbody>
    </table>
  </Form>
);

function rowOf({ form: entered }: Visit, index: number, stored: StatusName | undefined): Html {
  const isSent = entered.has("code-0");
  const valueOf = (name: string, value: string) => exact(isSent ? entered.get(`${name}-${index}`) ?? "" : value);
  const nth = index + 1;
  return (
    <tr>
      <td data-label="Number">
        <input
          name={`code-${index}`}
          inputmode="numeric"
          aria-label={`Number of status ${nth}`}
          value={valueOf("code", String(stored?.status ?? ""))}
        />
      </td>
      <td data-label="Name">
        <input
          name={`name-${index}`}
          aria-label={`Name of status ${nth}`}
          value={valueOf("name", stored?.name ?? "")}
        />
      </td>
      <td data-label="Failure">
        <input
          type="checkbox"
          name={`failure-${index}`}
          value="yes"
          aria-label={`Status ${nth} counts as a failure`}
          checked={isSent ? entered.has(`failure-${index}`) : stored?.isFailure}
        />
      </td>
    </tr>
  );
}

/** The statuses that the form sent. */
export function statusesIn({ form: entered }: Visit): StatusName[] {
  const statuses: StatusName[] = [];
  for (let index = 0; entered.has(`code-${index}`); index++) {
    const code = entered.get(`code-${index}`)!.trim();
    if (code === "") continue;
    if (!/^-?\d{1,15}$/.test(code)) throw invalid("The number of a status must be an integer");
    const name = (entered.get(`name-${index}`) ?? "").trim();
    statuses.push({ status: Number(code), name, isFailure: entered.has(`failure-${index}`) });
  }
  return statuses;
}

/** Names a field of the statuses that a form sent: `statuses[0].name`. */
export const statusLabel = (statuses: readonly StatusName[]) => (path: string): string | undefined => {
  const [, index, name] = /^statuses\[(\d+)\]\.(\w+)$/.exec(path) ?? [];
  if (index === undefined) return undefined;
  return `The ${name === "status" ? "number" : name} of status ${statuses[Number(index)]!.status}`;
};
