// What a command is, and what it works with and gives.
import type { Admin } from "../admin/workspaces.ts";
import type { Arguments } from "./arguments.ts";

/** What a command works with. */
export type CommandContext = {
  admin: Admin;
  args: Arguments;
  /** The text of a file, or of standard input for `-`. */
  read(path: string): Promise<string>;
  /** The migrations that opening the database has applied. */
  applied: string[];
};

/** What a command gives: its data, a remark about it, and whether it must exit 1. */
export type Outcome = { data: object; note?: string | undefined; refused?: boolean };

/** A command works on the database; one that starts something opens what it needs itself. */
export type Command =
  & { usage: string; summary: string }
  & ({ run(context: CommandContext): Promise<Outcome> } | { start(): Promise<unknown> });

/** The words that call a command: those its usage begins with. */
export const nameOf = ({ usage }: Command): string[] => /^[a-z]+( [a-z]+)?/.exec(usage)![0].split(" ");

export const show = (data: object, note?: string): Outcome => ({ data, note });

/** How many entries a list has at most, unless set. */
export const listLimit = 50;

/** A list of the newest entries; where it may go on, the remark says how to see more. */
export const showNewest = (list: object[], limit: number): Outcome =>
  show(list, list.length > 0 && list.length === limit ? `The newest ${limit}; --limit N sets how many` : undefined);
