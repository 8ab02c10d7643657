// Checks that a ledger's contents are in a folder's git commits: later edits of its files are then based on them.
import { canonicalOf } from "../../files/formats/content.ts";
import { readFolder } from "../../files/folder.ts";
import type { PlanOptions } from "../../files/plan.ts";
import { findCommitted, readBlobs } from "../../runtime/git.ts";
import type { Committed } from "../../runtime/git.ts";

const mostRead = 100; // of the versions of a file

/** Looks up contents in the commits of a folder. git stores whole seconds. */
export function committedIn(folder: string): NonNullable<PlanOptions["isCommitted"]> {
  let history: Promise<Map<string, Committed[]>> | undefined;
  const read = inGroups((ids) => readBlobs(folder, ids));
  return async (path, content, since) => {
    const second = Math.floor(since / 1000) * 1000;
    const versions = (await (history ??= findCommitted(folder))).get(path) ?? [];
    const ids = versions.filter(({ at }) => at >= second).slice(0, mostRead).map(({ blob }) => blob);
    const texts = ids.length === 0 ? undefined : await read(ids);
    return ids.some((id) => {
      const text = texts?.get(id);
      const [file] = text === undefined ? [] : readFolder(new Map([[path, text]])).prompts;
      return file !== undefined && canonicalOf(file.content) === canonicalOf(content);
    });
  };
}

type Read = (ids: readonly string[]) => Promise<Map<string, string>>;

/** Batches the requests made during a read, since a git process takes longer than its reads. */
function inGroups(read: Read): Read {
  let waiting: Promise<Map<string, string>> | undefined, wanted: string[] = [];
  let last: Promise<unknown> = Promise.resolve();
  return (ids) => {
    wanted.push(...ids);
    last = waiting ??= last.then(() => {
      const group = wanted;
      [waiting, wanted] = [undefined, []];
      return read(group);
    });
    return waiting;
  };
}
