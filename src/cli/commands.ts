// Every command, in the order in which help shows them.
import { accessCommands } from "./access-commands.ts";
import type { Command } from "./command.ts";
import { promptCommands } from "./prompt-commands.ts";
import { recordCommands } from "./record-commands.ts";

export const commands: Command[] = [...accessCommands, ...promptCommands, ...recordCommands];
