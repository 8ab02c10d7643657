// The owner of the backups in a place. Backups of two databases would be counted together, and each database would
// remove the other's.
import { createHmac } from "node:crypto";
import { conflict } from "../../common/errors.ts";
import type { Database } from "../../database/database.ts";
import { readSecret } from "../../management/kernel/service-secret.ts";
import type { Place } from "./backup-place.ts";

/** An opaque identifier of a database. A copy has that of its original. */
export async function ownerOf(database: Database): Promise<string | undefined> {
  const found = await database.read({ sql: "select 1 from sqlite_schema where name = 'service_secret'" });
  // A schema from before 0.3.0 does not have the table.
  if (found.length === 0) return undefined;
  return createHmac("sha256", await readSecret(database)).update("backups").digest("hex").slice(0, 32);
}

/** A place that its first backup marks with its owner, and that lists and takes only backups of that owner. */
export function ownedPlace(place: Place, readOwner: () => Promise<string | undefined>): Place {
  /** Returns the owner if the place has no mark yet. Throws if it has that of another database. */
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
