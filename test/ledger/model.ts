// The service as it is thought, in memory: it decides one request after the other, and knows what must be in the books.
import type { DeploymentId, KeyId, PromptId, WorkspaceId } from "../../src/common/ids.ts";
import type { Call, LedgerBalance } from "../../src/schema/ledger.ts";
import { goodBody, promptFile } from "../helpers.ts";
import type { Answer } from "../helpers.ts";

export type Workspace = { id: WorkspaceId; name: string; limit: number; promptId: PromptId; titles: string[] };
export type Secret = { key: string; until: number };
export type Key = { id: KeyId; workspace: Workspace; expiry: number; isRevoked: boolean; secrets: Secret[] };
export type Deployment = {
  id: DeploymentId;
  workspace: Workspace;
  name: string;
  /** The versions that a rollback goes back along; the last is live. */
  stack: number[];
  /** The version that a client was last served. */
  lastRead: number | undefined;
  isActive: boolean;
  revision: number;
};

/** A request as it is sent. */
export type Asked = {
  kind: "read" | "submit" | "usage";
  key: Key;
  secret: Secret;
  /** Undefined for one that there is not. */
  deployment: Deployment | undefined;
  session: string;
  idempotencyKey: string | undefined;
  /** Whether the body lacks what it must have. */
  isBad: boolean;
  /** The version that a submit says it is for. */
  promptVersion: number | undefined;
};

/** An accepted request, in order of acceptance. */
export type Entry = Omit<Call, "id"> & {
  workspace: Workspace;
  record: { id: string; session: string } | undefined;
  isDeleted: boolean;
  isPruned: boolean;
};

/** What requests change. */
type State = { entries: Entry[]; kept: Kept[] };

/** What was submitted under an Idempotency-Key, and whether its time had once passed. */
type Kept = { name: string; id: string; fingerprint: string; at: number; wasOld: boolean };

export const monthOf = (at: number): string => new Date(at).toISOString().slice(0, 7);

export const endOfMonth = (month: string): number => {
  const next = new Date(`${month}-01T00:00:00Z`);
  return next.setUTCMonth(next.getUTCMonth() + 1);
};

const keyLifetime = 2 * 86_400_000;

export const bodyOf = ({ session, isBad, promptVersion }: Pick<Asked, "session" | "isBad" | "promptVersion">) => ({
  ...goodBody,
  sessionId: isBad ? undefined : session,
  promptVersion,
});

const numberOf = ({ headers }: Answer, name: string) => Number(headers.get(name) ?? NaN);

export function createModel() {
  let state: State = { entries: [], kept: [] };

  const usedOf = ({ entries }: State, workspace: Workspace, month: string) =>
    entries.filter((entry) => entry.workspace === workspace && entry.month === month);

  const isQuota = (answer: Answer, { limit }: Workspace, month: string, least: number, most = least): boolean => {
    const used = numberOf(answer, "X-RateLimit-Used");
    return used >= least && used <= most && numberOf(answer, "X-RateLimit-Limit") === limit &&
      numberOf(answer, "X-RateLimit-Remaining") === Math.max(0, limit - used) &&
      numberOf(answer, "X-RateLimit-Reset") === endOfMonth(month) / 1000;
  };

  /** The state after a request that was decided now, if it had to be answered so; undefined where not. */
  function decide(before: State, asked: Asked, now: number, answer: Answer, others: number): State | undefined {
    const { kind, key, secret, deployment, idempotencyKey, session } = asked;
    const { workspace } = key;
    const month = monthOf(now);
    const own = usedOf(before, workspace, month);
    const isBad = kind === "submit" && asked.isBad;
    const isKeyed = kind === "submit" && !isBad && idempotencyKey !== undefined;
    const isOld = ({ at }: Kept) => at < now - keyLifetime;
    const kept = isKeyed ? before.kept.map((one) => isOld(one) ? { ...one, wasOld: true } : one) : before.kept;
    const after = { ...before, kept };
    const isRefusal = (status: number, error: string) =>
      answer.status === status && answer.text === JSON.stringify({ error }) && !answer.headers.has("X-RateLimit-Used")
        ? after
        : undefined;

    if (secret.until <= now) return isRefusal(401, "Invalid API key");
    if (kind === "usage") {
      const reads = own.filter(({ operation }) => operation === "read").length;
      const [used, { limit }] = [own.length, workspace];
      const counts = { used, remaining: Math.max(0, limit - used), reads, submits: used - reads };
      return isBody(answer, 200, { month, limit, ...counts, resetTime: endOfMonth(month) / 1000 }) ? after : undefined;
    }
    if (isBad) return isRefusal(400, "Missing required field sessionId");
    const name = `${workspace.id} ${idempotencyKey}`;
    const fingerprint = `${deployment?.id} ${session} ${asked.promptVersion}`;
    const known = isKeyed ? kept.find((one) => one.name === name && !isOld(one)) : undefined;
    if (known?.wasOld) {
      // The clock has stepped back since: that it is forgotten is as good as that it is not.
      const without = { ...before, kept: before.kept.filter((one) => one.name !== name) };
      const forgotten = decide(without, asked, now, answer, others);
      if (forgotten !== undefined) return forgotten;
    }
    if (known !== undefined) {
      if (known.fingerprint !== fingerprint) {
        return isRefusal(422, "Idempotency-Key was used with another request");
      }
      // It tells what is used when its group is decided, which others may share.
      const isTold = isQuota(answer, workspace, month, own.length, own.length + others);
      return isRecorded(answer, known.id) && isTold ? after : undefined;
    }
    if (deployment?.workspace !== workspace || !deployment.isActive) {
      return isRefusal(404, "Deploy not found or not accessible");
    }
    const said = kind === "submit" ? asked.promptVersion : undefined;
    if (said !== undefined && said > workspace.titles.length) {
      return isRefusal(400, "Field promptVersion must be a version of the deployment's prompt");
    }
    if (own.length >= workspace.limit) {
      const { limit } = workspace;
      const details = { limit, used: own.length, resetTime: endOfMonth(month) / 1000, upgradeUrl: null };
      return isBody(answer, 429, { error: "Rate limit exceeded", details }) &&
          isQuota(answer, workspace, month, own.length) &&
          numberOf(answer, "Retry-After") === Math.max(1, Math.ceil((endOfMonth(month) - now) / 1000))
        ? after
        : undefined;
    }
    const number = own.length + 1;
    const promptVersion = said ?? deployment.stack.at(-1)!;
    const { id } = (answer.json ?? {}) as { id?: string };
    const isNew = id !== undefined && !before.entries.some(({ record }) => record?.id === id);
    const isRight = kind === "read"
      ? isBody(answer, 200, servedOf(deployment))
      : isNew && /^diag_[0-9a-z]{26}$/.test(id) && isRecorded(answer, id);
    if (!isRight || !isQuota(answer, workspace, month, number)) return undefined;
    const entry: Entry = {
      ...{ workspace, month, number, operation: kind, keyId: key.id, deployId: deployment.id, promptVersion },
      createdAt: now,
      record: kind === "submit" ? { id: id!, session } : undefined,
      isDeleted: false,
      isPruned: false,
    };
    return {
      entries: [...before.entries, entry],
      kept: isKeyed
        ? [...kept.filter((one) => one.name !== name), { name, id: id!, fingerprint, at: now, wasOld: false }]
        : kept,
    };
  }

  /** Whether requests that were sent at once were answered as they would have been one after the other, in some order. */
  function explain(asked: Asked[], answers: Answer[], now: number): boolean {
    const search = (before: State, left: number[]): boolean => {
      if (left.length === 0) {
        state = before;
        return true;
      }
      const next = left.flatMap((index) => {
        const after = decide(before, asked[index]!, now, answers[index]!, left.length - 1);
        return after === undefined ? [] : [{ after, rest: left.filter((other) => other !== index) }];
      });
      // What changes nothing may come first in any order.
      const idle = next.find(({ after }) => after.entries === before.entries);
      return (idle === undefined ? next : [idle]).some(({ after, rest }) => search(after, rest));
    };
    // Workspaces know nothing of each other, so that each has an order of its own.
    const workspaces = new Set(asked.map(({ key }) => key.workspace));
    return [...workspaces].every((workspace) =>
      search(state, [...asked.keys()].filter((index) => asked[index]!.key.workspace === workspace))
    );
  }

  /** What `verify` must say. */
  function balances(): LedgerBalance[] {
    const books = new Map<string, Entry[]>();
    for (const entry of state.entries) {
      const name = `${entry.workspace.id} ${entry.month}`;
      books.set(name, [...books.get(name) ?? [], entry]);
    }
    return [...books].sort(([a], [b]) => a < b ? -1 : 1).map(([name, own]) => {
      const [workspaceId, month] = name.split(" ") as [WorkspaceId, string];
      const records = own.filter(({ record }) => record !== undefined).length;
      return {
        ...{ workspaceId, month, used: own.length, calls: own.length, reads: own.length - records, records },
        deleted: own.filter(({ isDeleted, isPruned }) => isDeleted && !isPruned).length,
        pruned: own.filter(({ isPruned }) => isPruned).length,
        balanced: true,
      };
    });
  }

  return { explain, balances, entries: () => state.entries };
}

const isBody = ({ status, text }: Answer, wanted: number, body: unknown): boolean =>
  status === wanted && text === JSON.stringify(body);

const isRecorded = (answer: Answer, id: string): boolean =>
  isBody(answer, 201, { id, status: "success", message: "Diagnosis data recorded successfully" });

function servedOf({ id, workspace, name, stack }: Deployment) {
  const currentVersion = stack.at(-1)!;
  const { description, messages, llmConfig } = promptFile;
  return {
    ...{ id: workspace.promptId, title: workspace.titles[currentVersion - 1], description, messages },
    deploy: { id, name, currentVersion, isActive: true },
    workspace: { id: workspace.id, name: workspace.name },
    llmConfig,
  };
}
