// Commands for what was recorded and counted, and for the service itself.
import { listCalls, listDiagnoses, readUsage, verify } from "../admin/records.ts";
import { serve } from "../runtime/serve.ts";
import { listLimit, show } from "./command.ts";
import type { Command } from "./command.ts";

export const recordCommands: Command[] = [
  {
    usage: "diagnosis list --deploy ID [--session S] [--status CODE] [--limit N]",
    summary: `List a deployment's records, newest first, ${listLimit} unless set`,
    run: async ({ admin, args }) => {
      const sessionId = args.findText("session");
      const status = args.findNumber("status");
      return show(
        await listDiagnoses(admin, {
          deployId: args.text("deploy"),
          ...(sessionId === undefined ? {} : { sessionId }),
          ...(status === undefined ? {} : { status }),
          limit: args.findNumber("limit") ?? listLimit,
        }),
      );
    },
  },
  {
    usage: "call list --workspace ID [--limit N]",
    summary: `List a workspace's accepted requests, newest first, ${listLimit} unless set`,
    run: async ({ admin, args }) =>
      show(await listCalls(admin, args.text("workspace"), args.findNumber("limit") ?? listLimit)),
  },
  {
    usage: "usage --workspace ID [--month YYYY-MM]",
    summary: "Show what a workspace used of its quota, this month unless named",
    run: async ({ admin, args }) => show(await readUsage(admin, args.text("workspace"), args.findText("month"))),
  },
  {
    usage: "verify [--workspace ID]",
    summary: "Recount the books; exit 1 when a ledger does not balance",
    run: async ({ admin, args }) => {
      const data = await verify(admin, args.findText("workspace"));
      const unbalanced = data.ledgers.filter(({ balanced }) => !balanced).length;
      const note = data.balanced
        ? `All ${data.ledgers.length} ledgers balance`
        : `${unbalanced} of ${data.ledgers.length} ledgers do not balance`;
      return { data, note, refused: !data.balanced };
    },
  },
  {
    usage: "migrate",
    summary: "Bring the database's schema up to date",
    run: ({ applied }) =>
      Promise.resolve(show({ applied }, applied.length === 0 ? "The schema is up to date" : undefined)),
  },
  {
    usage: "serve",
    summary: "Start the service, as the environment says",
    start: serve,
  },
];
