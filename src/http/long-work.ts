// Management requests that scan much of the log: they go on only for a client that is still connected.
import { clientGone } from "../common/errors.ts";
import { around } from "../database/database.ts";
import type { Database } from "../database/database.ts";

/** The same database, whose operations fail once `isGone` says that the client has disconnected. */
export const untilGone = (database: Database, isGone: () => boolean): Database =>
  around(database, (operation) => isGone() ? Promise.reject(clientGone()) : operation());
