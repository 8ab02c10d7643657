// `check`: finds what is wrong with the prompt files of a folder. It needs neither a database nor a service.
import { describeFault } from "../files/faults.ts";
import { checkPrompts } from "../files/folder.ts";
import type { Terminal } from "../runtime/terminal.ts";
import type { Arguments } from "./arguments.ts";
import type { Command, Outcome } from "./command.ts";
import { counted, oneLine } from "./format.ts";
import { faultAnnotations } from "./plan-text.ts";
import { readUsage } from "./parameters.ts";
import { atFolder, readRepository } from "./repository.ts";

async function check(context: { args: Arguments; terminal: Terminal }): Promise<Outcome> {
  const { folder, prompts, faults } = await readRepository(context);
  const all = [...faults, ...atFolder(folder, checkPrompts(prompts))]
    .sort((a, b) => a.file < b.file ? -1 : a.file > b.file ? 1 : a.line - b.line || a.column - b.column);
  const bad = all.filter(({ isWarning }) => !isWarning);
  const isForGithub = context.args.findText("format") === "github";
  return {
    data: { prompts: prompts.length, faults: all },
    text: () => isForGithub ? faultAnnotations(all) : all.map((fault) => `${oneLine(describeFault(fault))}\n`).join(""),
    note: [
      counted(prompts.length, "prompt"),
      bad.length === 0 ? "nothing wrong" : counted(bad.length, "fault"),
      ...(bad.length === all.length ? [] : [counted(all.length - bad.length, "warning")]),
    ].join(", "),
    failed: bad.length > 0,
  };
}

export const checkCommands: Command[] = [
  {
    ...readUsage("check [--dir DIR] [--format text|github]", {}, {
      format: "With github, print annotations for GitHub Actions",
    }),
    summary: "Check the prompt files of a folder, without a server: syntax, names, variables, secrets",
    needs: "nothing",
    runLocally: check,
  },
];
