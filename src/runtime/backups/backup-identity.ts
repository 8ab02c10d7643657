// The state in a backup, and its proof: encryption, the name inside, and the owner of its database.
import { basename, dirname } from "node:path";
import type { Backup } from "../../management/upkeep/backup-notices.ts";
import { ageText } from "../../support/duration.ts";
import type { Refusal } from "../../common/errors.ts";
import type { Database } from "../../database/database.ts";
import { integerOrNull, text } from "../../database/row.ts";
import { hasWorkspaces } from "../../management/kernel/workspaces.ts";
import type { BackupKey } from "./backup-key.ts";
import { openFolderPlace } from "./backup-folder.ts";
import { countedWith, innerName, timeOf } from "./backup-names.ts";
import { ownerOf } from "./backup-owner.ts";
import type { Place } from "./backup-place.ts";
import type { Terminal } from "../terminal.ts";

/** A backup: a file, or a name in a place. */
export type BackupName = string | { place: Place; name: string };

/** With a key, a backup that the key does not authenticate is refused, unless `isAllowed`. */
export type Trust = { key: BackupKey | undefined; isAllowed: boolean };

/** The owner of the database in a backup, and when it was last used, in Unix ms; undefined if unknown. */
export type Origin = { owner: string | undefined; lastUsedAt: number | undefined };

/** The state in a backup: its time and when its database was last used, in Unix ms, as far as known. */
export type BackupState = { createdAt: number | null; lastUsedAt: number | null; isAuthenticated: boolean };

const upkeepInterval = 3_600_000; // ms between the upkeep of a service and the end of its lease
const maxIdle = 86_400_000; // ms that a database may be unused before a backup whose name is not authenticated
const clockSkew = 60_000; // ms that a backup's time may be ahead, as another machine's clock set it

const advice = "To take it anyway, name the file and add --allow-unauthenticated";

/** Refuses a plain backup if there is a key. Anyone who may write to a place can create one, with any token in it. */
export function requireEncryption(isEncrypted: boolean, { key, isAllowed }: Trust, refuse: (cause: string) => Refusal) {
  if (isEncrypted || key === undefined || isAllowed) return;
  throw refuse(`it is not encrypted although BACKUP_KEY_FILE is set, so it may come from anyone. ${advice}`);
}

/** Reads the origin of a database of any schema. */
export async function readOrigin(database: Database): Promise<Origin> {
  const tables = await database.read({ sql: "select name from sqlite_schema where type = 'table'" });
  const names = new Set(tables.map((row) => text(row, "name")));
  const latest = async (table: string, time: string, order: string): Promise<number> => {
    if (!names.has(table)) return 0;
    const [row] = await database.read({ sql: `select ${time} as at from ${table} order by ${order} desc limit 1` });
    return row === undefined ? 0 : integerOrNull(row, "at") ?? 0;
  };
  const lastUsedAt = Math.max(
    await latest("commits", "created_at", "position"),
    await latest("audit_log", "created_at", "position"),
    await latest("upkeep", `expires_at - ${upkeepInterval}`, "id"),
  );
  return { owner: await ownerOf(database), lastUsedAt: lastUsedAt > 0 ? lastUsedAt : undefined };
}

/** The owner of the database that a backup is to replace, or else of the place. */
async function expectedOwner(existing: Database | undefined, backup: BackupName): Promise<string | undefined> {
  // A database that is unreadable or has no workspaces may be replaced by any backup.
  const own = existing && await readOwner(existing).catch(() => undefined);
  return own ?? (typeof backup === "string" ? undefined : await backup.place.readMark());
}

const readOwner = async (database: Database): Promise<string | undefined> =>
  await hasWorkspaces(database) ? await ownerOf(database) : undefined;

/** Facts about an unpacked backup. `inner` is the name inside its content. */
type Unpacked = { backup: BackupName; isEncrypted: boolean; inner: string | undefined; origin: Origin };

/**
 * Determines the state of a backup, and warns the user of oddities. Throws the refusal that `refuse` creates if there
 * is a key, and the backup does not match its name or the `existing` database.
 */
export async function identify(
  { backup, isEncrypted, inner, origin }: Unpacked,
  existing: Database | undefined,
  { key, isAllowed }: Trust,
  { say }: Pick<Terminal, "say">,
  refuse: (cause: string) => Refusal,
): Promise<BackupState> {
  const file = typeof backup === "string" ? basename(backup) : backup.name, { lastUsedAt } = origin;
  const named = timeOf(file) === undefined ? undefined : innerName(file);
  const byContent = timeOf(`${inner}.gz`), byName = timeOf(file);
  const createdAt = isEncrypted ? byContent ?? byName : byName ?? byContent;
  const isRenamed = inner !== undefined && named !== undefined && inner !== named;
  const isAuthenticated = key !== undefined && isEncrypted && inner !== undefined && !isRenamed;
  if (key !== undefined && isEncrypted && !isAllowed) {
    if (isRenamed) throw refuse(`it is ${inner} under another name. ${advice}`);
    if (inner === undefined && createdAt !== undefined && createdAt - (lastUsedAt ?? 0) > maxIdle) {
      throw refuse(
        `nothing proves its name, and its database was last used ${
          lastUsedAt === undefined ? "never" : `at ${isoOf(lastUsedAt)}`
        }, long before the time in it. ${advice}`,
      );
    }
    const owner = await expectedOwner(existing, backup);
    if (owner !== undefined && origin.owner !== undefined && origin.owner !== owner) {
      throw refuse(`it is a backup of another database. ${advice}`);
    }
  }
  const used = lastUsedAt === undefined ? "" : `The database was last used at ${isoOf(lastUsedAt)}`;
  say(`${[createdAt === undefined ? "" : describeTime(createdAt), used].filter(Boolean).join(". ")}\n`);
  if (isRenamed) say(`It is ${inner} under another name\n`);
  if (key !== undefined && isEncrypted && inner === undefined) {
    say("An older version encrypted it: nothing proves its name and its time\n");
  }
  const newest = createdAt === undefined ? undefined : await findNewest(backup, countedWith(key !== undefined));
  if (newest !== undefined && newest.createdAt > createdAt!) {
    say(`It is not the newest: ${newest.name} is from ${isoOf(newest.createdAt)}\n`);
  }
  return { createdAt: createdAt ?? null, lastUsedAt: lastUsedAt ?? null, isAuthenticated };
}

const isoOf = (at: number) => new Date(at).toISOString();

function describeTime(createdAt: number): string {
  const age = Date.now() - createdAt, time = `The state is from ${isoOf(createdAt)}`;
  return age < -clockSkew
    ? `${time}, which has not come yet by the clock of this machine`
    : `${time}, ${ageText(Math.max(0, age))} ago`;
}

/** The newest backup in the place of another. */
async function findNewest(backup: BackupName, counts: (backup: Backup) => boolean): Promise<Backup | undefined> {
  const place = typeof backup === "string" ? openFolderPlace(dirname(backup), "BACKUP") : backup.place;
  return (await place.list()).find(counts);
}
