// Names of backups: `promptledger-20261123T100000Z.db.gz`, with the time of the state in UTC, and `.age` if it is encrypted, or
// `.enc` if an older version encrypted it.

const pattern = /^promptledger-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.db\.gz(\.age|\.enc)?$/;

/** The name of a backup of a state, whose time is in Unix ms. */
export const nameOf = (at: number, isEncrypted: boolean): string =>
  `promptledger-${new Date(at).toISOString().replace(/[-:]|\.\d+/g, "")}.db.gz${isEncrypted ? ".age" : ""}`;

/** The time of the state in a backup, in Unix ms. Undefined if this is not the name of a backup. */
export function timeOf(name: string): number | undefined {
  const [, ...parts] = pattern.exec(name) ?? [];
  const [year, month, day, hour, minute, second] = parts;
  const at = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  // Date.parse accepts 2027-02-30 as a day in March.
  return !Number.isNaN(at) && innerName(nameOf(at, false)) === innerName(name) ? at : undefined;
}

export const isEncryptedName = (name: string): boolean => /\.(age|enc)$/.test(name);

/** The name of the database in a backup, `promptledger-20261123T100000Z.db`. The content of the backup has it too. */
export const innerName = (name: string): string => name.replace(/\.gz(\.age|\.enc)?$/, "");

/**
 * Selects the backups of a place that count as backups of this database. With a key only encrypted ones do, since
 * anyone who may write to the place can add others.
 */
export const countedWith = (hasKey: boolean) => ({ name }: { name: string }): boolean =>
  !hasKey || isEncryptedName(name);
