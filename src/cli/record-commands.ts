// Commands for what was recorded and counted, and for the service itself.
import { listCalls, listDiagnoses, readUsage, verify } from "../admin/records.ts";
import { serve } from "../runtime/serve.ts";
import { listLimit, show, showNewest } from "./command.ts";
import type { Command } from "./command.ts";

export const recordCommands: Command[] = [
  {
    usage: "diagnosis list --deploy ID [--session S] [--status CODE] [--limit N]",
    summary: `List a deployment's records, newest first, ${listLimit} unless set`,
    run: async ({ admin, args }) => {
      const sessionId = args.findText("session");
      const status = args.findNumber("status");
      const limit = args.findNumber("limit") ?? listLimit;
      const filter = {
        deployId: args.text("deploy"),
        ...(sessionId === undefined ? {} : { sessionId }),
        ...(status === undefined ? {} : { status }),
        limit,
      };
      return showNewest(await listDiagnoses(admin, filter), limit);
    },
  },
  {
    usage: "call list --workspace ID [--limit N]",
    summary: `List a workspace's accepted requests, newest first, ${listLimit} unless set`,
    run: async ({ admin, args }) => {
      const limit = args.findNumber("limit") ?? listLimit;
      return showNewest(await listCalls(admin, args.text("workspace"), limit), limit);
    },
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
      const balanced = data.ledgers.filter((ledger) => ledger.balanced).length;
      return { data, note: `Balanced: ${balanced} of ${data.ledgers.length} ledgers`, refused: !data.balanced };
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
