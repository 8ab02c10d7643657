// Every command, in the order in which help shows them.
import { accessCommands } from "./access-commands.ts";
import type { Command } from "./command.ts";
import { promptCommands } from "./prompt-commands.ts";
import { recordCommands } from "./record-commands.ts";

export const commands: Command[] = [...accessCommands, ...promptCommands, ...recordCommands];

/** The words that call a command: those its usage begins with. */
export const nameOf = ({ usage }: Command): string[] => /^[a-z]+( [a-z]+)?/.exec(usage)![0].split(" ");
