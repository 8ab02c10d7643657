// What a command is.
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
export type Outcome = { data: unknown; note?: string | undefined; refused?: boolean };

/** A command works on the database; one that starts something opens what it needs itself. */
export type Command =
  & { usage: string; summary: string }
  & ({ run(context: CommandContext): Promise<Outcome> } | { start(): Promise<unknown> });

/** How many entries a list has at most, unless set. */
export const listLimit = 50;

export const show = (data: unknown, note?: string): Outcome => ({ data, note });
