// `mcp`: serves the Model Context Protocol on the standard streams, for an agent that starts it.
import { readConfig } from "../../runtime/settings/config.ts";
import { invalid, Refusal } from "../../common/errors.ts";
import { describeError } from "../../common/log.ts";
import { mcpPath } from "../../http/face.ts";
import { toRefusal } from "../../http/respond.ts";
import type { Role } from "../../management/kernel/operation.ts";
import { readLines, tooLong } from "../../runtime/lines.ts";
import type { Terminal } from "../../runtime/terminal.ts";
import type { Arguments } from "../frame/arguments.ts";
import type { Command, LocalContext } from "../frame/command.ts";
import { openLocal } from "../frame/local.ts";
import { readUsage, remote } from "../frame/parameters.ts";
import { sendTo } from "../frame/remote.ts";
import { findWorkspace } from "../frame/workspace.ts";

// An agent that may edit may not change what is protected.
const defaultRole: Role = "editor";

export const mcpCommands: Command[] = [
  {
    ...readUsage(`mcp [--role viewer|editor|publisher|admin] [--workspace WORKSPACE]${remote}`, {}, {
      role:
        `What the agent may do on a database of this machine. Default: ${defaultRole}. On a service its token decides`,
      workspace:
        "The only workspace that the agent may see in a database of this machine. Default: PROMPTLEDGER_WORKSPACE, or else all",
    }),
    summary: "Serve the Model Context Protocol on standard input and output, for an agent that starts this command",
    needs: "nothing",
    async runLocally(context) {
      const { answer, close } = await openAnswerer(context);
      const { serveLines } = await import("../../mcp/stdio.ts");
      const { write, env } = context.terminal;
      await serveLines(linesFor(readConfig(env).maxBodyBytes), write, answer).finally(close);
      return {};
    },
  },
];

async function* linesFor(maxBytes: number): AsyncGenerator<string | undefined> {
  for await (const line of readLines(maxBytes)) yield line === tooLong ? undefined : line;
}

async function openAnswerer({ args, terminal }: LocalContext) {
  const [server, name] = serverOf(args, terminal);
  if (server === undefined) return await openDatabase(args, terminal);
  if (args.findText("role") !== undefined) throw invalid(`${name} and --role exclude each other: the token has a role`);
  if (args.findText("workspace") !== undefined) {
    throw invalid(`${name} excludes --workspace and PROMPTLEDGER_WORKSPACE: bind the token to the workspace`);
  }
  const { answerBy } = await import("../../mcp/relay.ts");
  return { answer: answerBy(server + mcpPath, sendTo(server, mcpPath, terminal, name)), close() {} };
}

const serverOf = (args: Arguments, { env }: Terminal): [server: string | undefined, name: string] => {
  const option = args.findText("server");
  return option === undefined ? [env.PROMPTLEDGER_SERVER || undefined, "PROMPTLEDGER_SERVER"] : [option, "--server"];
};

async function openDatabase(args: Arguments, terminal: Terminal) {
  const role = args.findText<Role>("role") ?? defaultRole, name = args.findText("workspace");
  const { answerIn } = await import("../../mcp/stdio.ts");
  const opened = await openLocal(terminal, "check");
  try {
    const workspaceId = name === undefined ? undefined : await findWorkspace(opened.call, name);
    const caller = { source: "mcp", role, workspaceId } as const;
    const answer = answerIn({
      caller,
      call: opened.callAs(caller),
      refusalOf(error) {
        if (!(error instanceof Refusal)) terminal.say(`promptledger: ${describeError(error)}\n`);
        return toRefusal(error);
      },
    });
    return { answer, close: opened.close };
  } catch (error) {
    opened.close();
    throw error;
  }
}
