// A database as a build made it, and what that build said of it, in `fixtures/`, by the commit of the build.
import { readdir, readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { pathOf } from "../runtimes.ts";
import type { Answered, Asked } from "./history.ts";

export type Fixture = {
  commit: string;
  version: string;
  /** The day of the commit. */
  date: string;
  /** The names of its migrations. */
  migrations: string[];
  /** When the requests were answered, in Unix ms. */
  answeredAt: number;
  /** What reading commands printed. */
  printed: { args: string[]; text: string }[];
  /** What requests were answered after that. */
  answered: { asked: Asked; answer: Answered }[];
  /** Why this promptledger refuses to upgrade the database. Null if it does not. */
  refusal: string | null;
  /** Why the build refuses to serve the database once this promptledger has migrated it. Empty if it serves, null if not tried. */
  onNewer: string | null;
};

export const folder = pathOf("test/upgrade/fixtures");

const unzip = async (path: string) => promisify(gunzip)(await readFile(path));

/** All fixtures, the oldest build first. */
export async function readFixtures(): Promise<Fixture[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".json.gz"));
  const fixtures = await Promise.all(
    names.map(async (name) => JSON.parse(String(await unzip(`${folder}/${name}`)))),
  );
  return (fixtures as Fixture[]).sort((a, b) => a.answeredAt - b.answeredAt);
}

/** The file of the database. */
export const readDatabase = async ({ commit }: Fixture): Promise<Uint8Array> =>
  await unzip(`${folder}/${commit}.db.gz`);

/** The headers of responses that are compared. */
export const comparedHeaders = [
  "content-type",
  "etag",
  "www-authenticate",
  "x-ratelimit-limit",
  "x-ratelimit-remaining",
  "x-ratelimit-used",
  "x-ratelimit-reset",
];
