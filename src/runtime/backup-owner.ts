// Whose backups a place holds. Those of two databases would count as those of one, and each would remove those of the other.
import { createHmac } from "node:crypto";
import { conflict } from "../common/errors.ts";
import type { Database } from "../database/database.ts";
import { readSecret } from "../management/service-secret.ts";
import type { Place } from "./backup-place.ts";

/** What tells databases apart, and says nothing of them. A copy of a database has that of its original. */
export async function ownerOf(database: Database): Promise<string | undefined> {
  const found = await database.read({ sql: "select 1 from sqlite_schema where name = 'service_secret'" });
  // A schema from before 0.3.0 has none.
  if (found.length === 0) return undefined;
  return createHmac("sha256", await readSecret(database)).update("backups").digest("hex").slice(0, 32);
}

/** A place that is marked with its owner by the first backup, and that lists and takes backups of that owner alone. */
export function ownedPlace(place: Place, readOwner: () => Promise<string | undefined>): Place {
  /** The owner, if the place has no mark yet. Throws if it has that of another database. */
  async function findUnmarked(): Promise<string | undefined> {
    const owner = await readOwner(), mark = await place.readMark();
    if (mark === undefined) return owner;
    if (owner === undefined || mark === owner) return undefined;
    throw conflict(`${place.name} has the backups of another database. Set BACKUP_TO to a place of its own`);
  }

  return {
    ...place,
    async list() {
      const backups = await place.list();
      await findUnmarked();
      return backups;
    },
    async put(name, content) {
      const owner = await findUnmarked();
      if (owner !== undefined) await place.writeMark(owner);
      return place.put(name, content);
    },
  };
}
