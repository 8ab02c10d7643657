// The driver of files. It is native code that does not exist for some platforms, so it is loaded only when a file is
// opened: commands and services on a server do not need it.
import process from "node:process";
import type Libsql from "libsql";
import { unusable } from "../../common/errors.ts";
import { describeError } from "../../common/log.ts";

export type Driver = typeof Libsql;
export type NativeDatabase = Libsql.Database;
export type NativeStatement = Libsql.Statement;

let loading: Promise<Driver> | undefined;

/** Loads the driver. Rejects with instructions if it is not installed, or not for this platform. */
export const loadDriver = (): Promise<Driver> => loading ??= load();

async function load(): Promise<Driver> {
  try {
    return (await import("libsql")).default;
  } catch (error) {
    const [cause] = describeError(error).split("\n");
    throw unusable(
      `A database in a file needs the native module of libsql, which cannot be loaded on ${process.platform}-${process.arch}: ${cause}. ` +
        "Install the package with its optional dependencies, or set DATABASE_URL to a libSQL server",
    );
  }
}
