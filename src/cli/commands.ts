// Every command, in the order in which help shows them.
import { readConfig } from "../config.ts";
import { backUp } from "../runtime/backup.ts";
import { restore } from "../runtime/restore.ts";
import { serve } from "../runtime/serve.ts";
import { accessCommands } from "./access-commands.ts";
import { show } from "./command.ts";
import type { Command } from "./command.ts";
import { deploymentCommands } from "./deployment-commands.ts";
import { ledgerCommands } from "./ledger-commands.ts";
import { openHere } from "./local.ts";
import { promptCommands } from "./prompt-commands.ts";
import { recordCommands } from "./record-commands.ts";

const serviceCommands: Command[] = [
  {
    usage: "migrate",
    summary: "Bring the database's schema up to date",
    async start({ terminal }) {
      const { applied, close } = await openHere(terminal, { canBeFirst: true, migrates: true });
      close();
      return show({ applied }, applied.length === 0 ? "The schema is up to date" : undefined);
    },
  },
  {
    usage: "backup FILE",
    summary: "Copy the database file to a new one, while a service serves on it too",
    async start({ args, terminal }) {
      return show(await backUp(readConfig(terminal.env).database, args.text("FILE"), terminal));
    },
  },
  {
    usage: "restore FILE",
    summary: "Put a backup in the place of the database, which is kept, once its pages and books are found to be right",
    async start({ args, terminal }) {
      return show(await restore(readConfig(terminal.env).database, args.text("FILE"), terminal));
    },
  },
  {
    usage: "serve",
    summary: "Start the service, as the environment says",
    async start() {
      await serve();
      return {};
    },
  },
];

export const commands: Command[] = [
  ...accessCommands,
  ...promptCommands,
  ...deploymentCommands,
  ...recordCommands,
  ...ledgerCommands,
  ...serviceCommands,
];
