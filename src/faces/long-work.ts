// Management requests that scan much of the log: they stop once their client has disconnected.
import { clientGone } from "../common/errors.ts";
import { around } from "../database/database.ts";
import type { Database } from "../database/database.ts";

/** View of a database whose operations fail once `isGone` returns true (client disconnected). */
export const untilGone = (database: Database, isGone: () => boolean): Database =>
  around(database, (operation) => isGone() ? Promise.reject(clientGone()) : operation());
