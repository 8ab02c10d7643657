// Whether commits of a folder's repository have what a ledger has: then whoever changes the files since has seen it.
import { canonicalOf } from "../files/content.ts";
import { readFolder } from "../files/folder.ts";
import type { PlanOptions } from "../files/plan.ts";
import { findCommitted } from "../runtime/git.ts";

/** Looks contents up in the commits of a folder. git tells the second of a commit. */
export function committedIn(folder: string): NonNullable<PlanOptions["isCommitted"]> {
  return async (path, content, since) => {
    for await (const { text, at } of findCommitted(folder, path)) {
      if (at < Math.floor(since / 1000) * 1000) return false;
      const [file] = readFolder(new Map([[path, text]])).prompts;
      if (file !== undefined && canonicalOf(file.content) === canonicalOf(content)) return true;
    }
    return false;
  };
}
