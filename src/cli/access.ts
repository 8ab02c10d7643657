// How the command line shows keys and workspaces.
import { createApiKey, listApiKeys, rotateApiKey } from "../management/api-keys.ts";
import type { ApiKey } from "../management/api-keys.ts";
import { deleteWorkspace } from "../management/deletion.ts";
import { createWorkspace, updateWorkspace } from "../management/workspaces.ts";
import { show } from "./command.ts";
import { readAll } from "./lists.ts";
import { present } from "./operation-commands.ts";

const storeNow = "Store the key now: it is not shown again";

const describeExpiry = ({ expiresAt }: ApiKey): string =>
  typeof expiresAt === "number" ? `. It expires at ${new Date(expiresAt).toISOString()}` : "";

/** The most important columns come first, because a narrow terminal hides the last ones. */
const toRow = ({ name, prefix, readOnly, submitOnly, deployId, expiresAt, lastUsedAt, createdAt, ...rest }: ApiKey) => {
  const { revokedAt, id } = rest;
  const isExpired = expiresAt !== null && expiresAt <= Date.now();
  const state = revokedAt !== null ? "revoked" : isExpired ? "expired" : "valid";
  const power = readOnly ? "reads" : submitOnly ? "submits" : "all";
  return { name, prefix, state, for: power, deployId, expiresAt, lastUsedAt, createdAt, revokedAt, id };
};

export const accessPresentations = [
  present(createWorkspace, { createsDatabase: true }),
  present(updateWorkspace, {
    check: (args) =>
      ["name", "limit", "upgrade-url", "keep-records", "keep-calls"].every((name) => args.findText(name) === undefined)
        ? "Nothing to change: set --name, --limit, --upgrade-url, --keep-records or --keep-calls"
        : undefined,
  }),
  present(deleteWorkspace, {
    /** The operation works for a few seconds at a time. */
    async run({ call, terminal }, input) {
      const sum = { calls: 0, records: 0 };
      for (let isDone = false; !isDone;) {
        const removed = await call(deleteWorkspace, input);
        sum.calls += removed.calls;
        sum.records += removed.records;
        isDone = removed.isDone;
        terminal.report(`Removed ${sum.calls} calls and ${sum.records} records`);
      }
      return show(sum);
    },
  }),
  present(createApiKey, {
    show(key) {
      const isExpired = key.expiresAt !== null && key.expiresAt <= key.createdAt;
      return show(key, isExpired ? "The key is already expired" : `${storeNow}${describeExpiry(key)}`);
    },
  }),
  present(rotateApiKey, {
    show(key) {
      const old = key.overlapEndsAt !== null
        ? `valid until ${new Date(key.overlapEndsAt).toISOString()}`
        : "refused from now on";
      return show(key, `${storeNow}${describeExpiry(key)}. The old one is ${old}`);
    },
  }),
  present(listApiKeys, {
    async run({ call }, input) {
      const data = await readAll(call, listApiKeys, input);
      return { data, rows: data.map(toRow) };
    },
  }),
];
