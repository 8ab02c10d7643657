// Commands for workspaces and keys: who may ask, and how often.
import type { NewApiKey } from "../admin/api-keys.ts";
import type { ApiKey } from "../common/domain.ts";
import { defaultMonthlyLimit } from "../admin/workspaces.ts";
import * as operations from "../operations/access-operations.ts";
import { show } from "./command.ts";
import type { Command } from "./command.ts";
import { listAll } from "./lists.ts";

const keepIt = "Keep the key: it is not shown again";

const describeExpiry = ({ expiresAt }: NewApiKey): string =>
  typeof expiresAt === "number" ? `. It expires at ${new Date(expiresAt).toISOString()}` : "";

/** What tells most of a key stands first: on a narrow terminal the rest is left out. */
const toRow = ({ name, prefix, expiresAt, lastUsedAt, createdAt, revokedAt, id }: ApiKey) => {
  const isExpired = expiresAt !== null && expiresAt <= Date.now();
  const state = revokedAt !== null ? "revoked" : isExpired ? "expired" : "valid";
  return { name, prefix, state, expiresAt, lastUsedAt, createdAt, revokedAt, id };
};

export const accessCommands: Command[] = [
  {
    usage: "workspace create --name NAME [--limit REQUESTS] [--upgrade-url URL]",
    canBeFirst: true,
    summary: `Make a workspace; its limit is accepted requests a month, ${defaultMonthlyLimit} unless set`,
    run: async ({ args, call }) =>
      show(
        await call(operations.createWorkspace, {
          name: args.text("name"),
          monthlyLimit: args.findNumber("limit"),
          upgradeUrl: args.findText("upgrade-url") || null,
        }),
      ),
  },
  {
    usage: "workspace list",
    summary: "List all workspaces, newest first",
    run: ({ call }) => listAll(call, operations.listWorkspaces, {}),
  },
  {
    usage: "workspace show ID",
    summary: "Show a workspace",
    run: async ({ args, call }) => show(await call(operations.getWorkspace, { id: args.text("ID") })),
  },
  {
    usage: "workspace update ID [--name NAME] [--limit REQUESTS] [--upgrade-url URL]",
    summary: 'Change a workspace; --upgrade-url "" takes the link away',
    check: (args) =>
      ["name", "limit", "upgrade-url"].every((name) => args.findText(name) === undefined)
        ? "Nothing to change: give --name, --limit or --upgrade-url"
        : undefined,
    run: async ({ args, call }) => {
      const upgradeUrl = args.findText("upgrade-url");
      return show(
        await call(operations.updateWorkspace, {
          id: args.text("ID"),
          name: args.findText("name"),
          monthlyLimit: args.findNumber("limit"),
          upgradeUrl: upgradeUrl === "" ? null : upgradeUrl,
        }),
      );
    },
  },
  {
    usage: "key create --workspace ID [--name NAME] [--expires EXPIRY]",
    summary: "Make an API key; it is shown this once. A day as EXPIRY is its first moment in UTC",
    run: async ({ args, call }) => {
      const input = { name: args.findText("name"), expiresAt: args.findNumber("expires") };
      const workspaceId = args.text("workspace");
      const key = await call(operations.createApiKey, { workspaceId, ...input }) as NewApiKey;
      const isExpired = key.expiresAt !== null && key.expiresAt <= key.createdAt;
      return show(key, isExpired ? "The key has expired already" : `${keepIt}${describeExpiry(key)}`);
    },
  },
  {
    usage: "key list --workspace ID",
    summary: "List a workspace's keys by their first characters, newest first",
    async run({ args, call }) {
      const outcome = await listAll(call, operations.listApiKeys, { workspaceId: args.text("workspace") });
      return { ...outcome, rows: (outcome.data as ApiKey[]).map(toRow) };
    },
  },
  {
    usage: "key show ID",
    summary: "Show a key by its first characters",
    run: async ({ args, call }) => show(await call(operations.getApiKey, { id: args.text("ID") })),
  },
  {
    usage: "key revoke ID",
    summary: "Refuse a key from the next request on",
    run: async ({ args, call }) => show(await call(operations.revokeApiKey, { id: args.text("ID") })),
  },
  {
    usage: "key rotate ID [--overlap DURATION] [--expires EXPIRY]",
    summary: "Give a key a new secret, shown this once; the old one stays valid for the overlap, none unless set",
    run: async ({ args, call }) => {
      const overlapMs = args.findNumber("overlap");
      const input = { id: args.text("ID"), overlapMs, expiresAt: args.findNumber("expires") };
      const key = await call(operations.rotateApiKey, input);
      const old = key.overlapEndsAt !== null
        ? `valid until ${new Date(key.overlapEndsAt).toISOString()}`
        : "refused from now on";
      return show(key, `${keepIt}${describeExpiry(key)}. The old one is ${old}`);
    },
  },
];
