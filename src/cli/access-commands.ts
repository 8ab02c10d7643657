// Commands for workspaces and keys: who may ask, and how often.
import { createApiKey, listApiKeys, revokeApiKey } from "../admin/api-keys.ts";
import { createWorkspace, defaultMonthlyLimit, listWorkspaces, updateWorkspace } from "../admin/workspaces.ts";
import { show } from "./command.ts";
import type { Command } from "./command.ts";

export const accessCommands: Command[] = [
  {
    usage: "workspace create --name NAME [--limit N] [--upgrade-url URL]",
    summary: `Make a workspace; its limit is accepted requests a month, ${defaultMonthlyLimit} unless set`,
    run: async ({ admin, args }) =>
      show(
        await createWorkspace(admin, {
          name: args.text("name"),
          monthlyLimit: args.findNumber("limit") ?? defaultMonthlyLimit,
          upgradeUrl: args.findText("upgrade-url") || null,
        }),
      ),
  },
  {
    usage: "workspace list",
    summary: "List all workspaces",
    run: async ({ admin }) => show(await listWorkspaces(admin)),
  },
  {
    usage: "workspace update ID [--name NAME] [--limit N] [--upgrade-url URL]",
    summary: 'Change a workspace; --upgrade-url "" takes the link away',
    run: async ({ admin, args }) => {
      const upgradeUrl = args.findText("upgrade-url");
      const change = { name: args.findText("name"), monthlyLimit: args.findNumber("limit") };
      return show(
        await updateWorkspace(admin, args.text("ID"), { ...change, upgradeUrl: upgradeUrl === "" ? null : upgradeUrl }),
      );
    },
  },
  {
    usage: "key create --workspace ID [--name NAME] [--expires ISO8601]",
    summary: "Make an API key; it is shown this once",
    run: async ({ admin, args }) => {
      const expiresAt = args.findNumber("expires") ?? null;
      const key = await createApiKey(admin, args.text("workspace"), { name: args.findText("name") ?? "", expiresAt });
      const isExpired = expiresAt !== null && expiresAt <= key.createdAt;
      return show(key, isExpired ? "The key has expired already" : "Keep the key: it is not shown again");
    },
  },
  {
    usage: "key list --workspace ID",
    summary: "List a workspace's keys by their first characters",
    run: async ({ admin, args }) => show(await listApiKeys(admin, args.text("workspace"))),
  },
  {
    usage: "key revoke ID",
    summary: "Refuse a key from the next request on",
    run: async ({ admin, args }) => show(await revokeApiKey(admin, args.text("ID"))),
  },
];
