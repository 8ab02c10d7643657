// `backup now`, `backup list`, `backup check` and `backup key`: the backups of BACKUP_TO. And what `restore` is given.
import { readPlace } from "../../runtime/settings/backup-settings.ts";
import type { PlaceSettings } from "../../runtime/settings/backup-settings.ts";
import { readConfig } from "../../runtime/settings/config.ts";
import { ageText } from "../../support/duration.ts";
import { invalid } from "../../common/errors.ts";
import { formatBytes } from "../../runtime/atomic-file.ts";
import { findBackupKey, identityOf } from "../../runtime/backups/backup-key.ts";
import { findBackup } from "../../runtime/backups/backup-place.ts";
import { isEncryptedName, timeOf } from "../../runtime/backups/backup-names.ts";
import { backUpNow, checkBackup, listKept, requireBackups } from "../../runtime/backups/backups.ts";
import { openPlace } from "../../runtime/backups/open-place.ts";
import type { BackupSource } from "../../runtime/backups/restore.ts";
import type { Terminal } from "../../runtime/terminal.ts";
import type { Arguments } from "../frame/arguments.ts";
import type { Command } from "../frame/command.ts";
import { counted, format, formatElapsed, formatTime } from "../frame/format.ts";
import { readUsage } from "../frame/parameters.ts";
import { convert } from "../frame/placeholders.ts";

/** The newest backup, regardless of this machine's clock. */
const latest = "latest";

const allowing = "allow-unauthenticated";

/** Explains the option for backups that the key does not authenticate. */
export const allowance = {
  [allowing]: "Accept the named file even if BACKUP_KEY_FILE does not prove its origin, name and database",
};

export const backupCommands: Command[] = [
  {
    ...readUsage("backup now"),
    summary:
      "Copy the database to BACKUP_TO, check the copy, and remove the backups that BACKUP_KEEP does not keep; the service may keep running",
    needs: "database",
    async runLocally({ terminal }) {
      const start = performance.now();
      const made = await backUpNow(readConfig(terminal.env), terminal);
      const durationMs = Math.round(performance.now() - start);
      const { name, bytes, place, removed, unremoved } = made;
      const note = removed.length === 0 ? "" : `, and removed ${counted(removed.length, "backup")} that no rule keeps`;
      return {
        data: { ...made, durationMs },
        text: () => format(made),
        note: [
          `Backed up ${formatBytes(bytes)} to ${name} in ${place} in ${formatElapsed(durationMs)}${note}`,
          unremoved,
        ]
          .filter((line) => line !== undefined).join("\n"),
        failed: unremoved !== undefined,
      };
    },
  },
  {
    ...readUsage("backup list"),
    summary: "List the backups in BACKUP_TO, the newest first, with the rules of BACKUP_KEEP that keep them",
    needs: "database",
    async runLocally({ terminal }) {
      const config = readConfig(terminal.env), backups = await listKept(config);
      const rows = backups.map(({ name, createdAt, bytes, ageMs, keptBy }) => ({
        ...{ name, createdAt, size: formatBytes(bytes), age: ageText(ageMs) },
        keptBy: keptBy.length === 0 ? "until the next" : keptBy.join(", "),
      }));
      const plain = backups.filter(({ name }) => config.backupKeyFile !== undefined && !isEncryptedName(name)).length;
      return { data: backups, rows, note: plain === 0 ? undefined : describePlain(plain) };
    },
  },
  {
    ...readUsage("backup check [BACKUP] [--allow-unauthenticated]", {}, {
      ...allowance,
      BACKUP: `The name of a backup in BACKUP_TO, or a time, for the newest one up to then. Default: ${latest}`,
    }),
    summary: "Fetch a backup from BACKUP_TO and check it as restore does, without restoring it",
    needs: "database",
    async runLocally({ args, terminal }) {
      const choice = readWanted(args.findText("BACKUP") ?? latest), isAllowed = args.has(allowing);
      if (isAllowed && typeof choice !== "string") throw notNamed();
      const checked = await checkBackup(readConfig(terminal.env), choice, isAllowed, terminal);
      const { name, createdAt, ledgers } = checked;
      return {
        data: checked,
        text: () => format(checked),
        note: `${name}, from ${formatTime(createdAt)}, is whole: ` +
          (ledgers === 0 ? "it has no ledger yet" : `${counted(ledgers, "ledger")} balanced`),
      };
    },
  },
  {
    ...readUsage("backup key"),
    summary:
      "Print the key in BACKUP_KEY_FILE for age --identity, so that age can decrypt backups without promptledger",
    needs: "nothing",
    async runLocally({ terminal }) {
      const key = await findBackupKey(readConfig(terminal.env).backupKeyFile);
      if (key === undefined) throw invalid("Set BACKUP_KEY_FILE to the file with the key of the backups");
      const identity = identityOf(key);
      return { data: { identity }, text: () => `${identity}\n` };
    },
  },
];

/** The name of a backup, or the time by which it was made, in Unix ms. */
const readWanted = (text: string): string | number =>
  text === latest ? Infinity : timeOf(text) !== undefined ? text : convert("BACKUP", "TIME", text);

const notNamed = () =>
  invalid(`--${allowing} needs the name of a file: anyone who may write to a place decides what is newest`);

const describePlain = (count: number): string =>
  `${counted(count, "backup")} ${count === 1 ? "is" : "are"} not encrypted. With BACKUP_KEY_FILE, restore refuses such`;

/** Backup to restore: an existing file, `latest`, or `PLACE@TIME`. */
export async function findSource(
  args: Arguments,
  { env, exists }: Pick<Terminal, "env" | "exists">,
): Promise<BackupSource> {
  const { backups, backupKeyFile } = readConfig(env);
  const text = args.text("BACKUP"), isAllowed = args.has(allowing);
  const trust = { key: await findBackupKey(backupKeyFile), isAllowed };
  if (await exists(text)) return { from: text, ...trust };
  const [, to, wanted] = text === latest
    ? [text, undefined, latest]
    : /^(.+)@([^@/\\]+)$/s.exec(text) ?? /^(s3:\/\/.+)\/([^/]+)$/s.exec(text) ?? [];
  if (wanted === undefined) return { from: text, ...trust };
  const place = await openPlace(to === undefined ? requireBackups({ backups }).to : placeAt(to, env));
  const name = readWanted(wanted);
  if (isAllowed && typeof name !== "string") throw notNamed();
  return { from: { place, name: (await findBackup(place, name)).name }, ...trust };
}

/** The settings of a place in an argument. */
function placeAt(to: string, env: Terminal["env"]): PlaceSettings {
  const faults: string[] = [];
  const place = readPlace("BACKUP", to, (name) => env[name] || undefined, faults);
  if (faults.length > 0) throw invalid(faults.join(". "));
  return place;
}
