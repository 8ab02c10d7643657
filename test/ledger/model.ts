// A model of the service, in memory. It decides one request after the other, and knows what the ledger must contain.
import { createHash } from "node:crypto";
import type { DeploymentId, KeyId, PromptId, WorkspaceId } from "../../src/common/ids.ts";
import type { Call, LedgerBalance } from "../../src/schema/ledger.ts";
import { goodBody, promptFile } from "../helpers.ts";
import type { Answer } from "../helpers.ts";

export type Workspace = { id: WorkspaceId; name: string; limit: number; promptId: PromptId; titles: string[] };
export type Secret = { key: string; until: number };
export type Key = { id: KeyId; workspace: Workspace; expiry: number; isRevoked: boolean; secrets: Secret[] };
export type Rollout = { id: string; salt: string; base: number; version: number; percent: number; isActive: boolean };
export type Deployment = {
  id: DeploymentId;
  workspace: Workspace;
  name: string;
  /** The versions that rollbacks return to. The last one is live. */
  stack: number[];
  /** The version that a client was last served. */
  lastRead: number | undefined;
  isActive: boolean;
  revision: number;
  /** In the order of their starts. Only the last one may be active. */
  rollouts: Rollout[];
};

/** What of a rollout a read asks for: nothing, both versions, or the one that a key picks. */
export type Asked = "live" | "both" | { key: string };

/** A request as it is sent. */
export type Sent = {
  kind: "read" | "submit" | "usage";
  key: Key;
  secret: Secret;
  /** Undefined for one that does not exist. */
  deployment: Deployment | undefined;
  session: string;
  idempotencyKey: string | undefined;
  /** Whether the body lacks a required field. */
  isBad: boolean;
  /** The promptVersion of a submit, and its rollout. */
  promptVersion: number | undefined;
  rollout: string | undefined;
  asked: Asked;
};

/** An accepted request, in order of acceptance. */
export type Entry = Omit<Call, "id"> & {
  workspace: Workspace;
  record: { id: string; session: string; rollout: string | undefined } | undefined;
  isDeleted: boolean;
  isPruned: boolean;
};

/** What requests change. */
type State = { entries: Entry[]; keys: StoredKey[] };

/** An Idempotency-Key with its submit. `wasOld` says whether the key has been seen expired. */
type StoredKey = { name: string; id: string; fingerprint: string; at: number; wasOld: boolean };

export const monthOf = (at: number): string => new Date(at).toISOString().slice(0, 7);

export const endOfMonth = (month: string): number => {
  const next = new Date(`${month}-01T00:00:00Z`);
  return next.setUTCMonth(next.getUTCMonth() + 1);
};

const keyLifetime = 2 * 86_400_000;

export const bodyOf = (
  { session, isBad, promptVersion, rollout }: Pick<Sent, "session" | "isBad" | "promptVersion" | "rollout">,
) => ({ ...goodBody, sessionId: isBad ? undefined : session, promptVersion, rollout });

const numberOf = ({ headers }: Answer, name: string) => Number(headers.get(name) ?? NaN);

export function createModel() {
  let state: State = { entries: [], keys: [] };

  const usedOf = ({ entries }: State, workspace: Workspace, month: string) =>
    entries.filter((entry) => entry.workspace === workspace && entry.month === month);

  const isQuota = (answer: Answer, { limit }: Workspace, month: string, least: number, most = least): boolean => {
    const used = numberOf(answer, "X-RateLimit-Used");
    return used >= least && used <= most && numberOf(answer, "X-RateLimit-Limit") === limit &&
      numberOf(answer, "X-RateLimit-Remaining") === Math.max(0, limit - used) &&
      numberOf(answer, "X-RateLimit-Reset") === endOfMonth(month) / 1000;
  };

  /** The state after deciding a request now. Undefined if the answer should be another one. */
  function decide(before: State, sent: Sent, now: number, answer: Answer, others: number): State | undefined {
    const { kind, key, secret, deployment, idempotencyKey, session } = sent;
    const { workspace } = key;
    const month = monthOf(now);
    const own = usedOf(before, workspace, month);
    const isBad = kind === "submit" && sent.isBad;
    const isKeyed = kind === "submit" && !isBad && idempotencyKey !== undefined;
    const isOld = ({ at }: StoredKey) => at < now - keyLifetime;
    const keys = isKeyed ? before.keys.map((one) => isOld(one) ? { ...one, wasOld: true } : one) : before.keys;
    const after = { ...before, keys };
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
    const fingerprint = `${deployment?.id} ${session} ${sent.promptVersion} ${sent.rollout}`;
    const known = isKeyed ? keys.find((one) => one.name === name && !isOld(one)) : undefined;
    if (known?.wasOld) {
      // The clock has stepped back since, so the service may have deleted the key or not.
      const without = { ...before, keys: before.keys.filter((one) => one.name !== name) };
      const deleted = decide(without, sent, now, answer, others);
      if (deleted !== undefined) return deleted;
    }
    if (known !== undefined) {
      if (known.fingerprint !== fingerprint) {
        return isRefusal(422, "Idempotency-Key was used with another request");
      }
      // The quota is that after the repeat's group, which other requests may share.
      const isRight = isQuota(answer, workspace, month, own.length, own.length + others);
      return isRecorded(answer, known.id) && isRight ? after : undefined;
    }
    if (deployment?.workspace !== workspace || !deployment.isActive) {
      return isRefusal(404, "Deploy not found or not accessible");
    }
    const given = kind === "submit" ? sent.promptVersion : undefined;
    if (given !== undefined && given > workspace.titles.length) {
      return isRefusal(400, "Field promptVersion must be a version of the deployment's prompt");
    }
    const isOf = ({ id, base, version }: Rollout) => id === sent.rollout && (given === base || given === version);
    if (kind === "submit" && sent.rollout !== undefined && !deployment.rollouts.some(isOf)) {
      return isRefusal(
        400,
        "Field rollout must be a rollout of the deployment, with promptVersion one of its versions",
      );
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
    const promptVersion = given ?? deployment.stack.at(-1)!;
    const { id } = (answer.json ?? {}) as { id?: string };
    const isNew = id !== undefined && !before.entries.some(({ record }) => record?.id === id);
    const isRight = kind === "read"
      ? isBody(answer, 200, answerOf(deployment, sent.asked))
      : isNew && /^diag_[0-9a-z]{26}$/.test(id) && isRecorded(answer, id);
    if (!isRight || !isQuota(answer, workspace, month, number)) return undefined;
    const entry: Entry = {
      ...{ workspace, month, number, operation: kind, keyId: key.id, deployId: deployment.id, promptVersion },
      createdAt: now,
      record: kind === "submit" ? { id: id!, session, rollout: sent.rollout } : undefined,
      isDeleted: false,
      isPruned: false,
    };
    return {
      entries: [...before.entries, entry],
      keys: isKeyed
        ? [...keys.filter((one) => one.name !== name), { name, id: id!, fingerprint, at: now, wasOld: false }]
        : keys,
    };
  }

  /** Whether requests sent at once got the answers that they would get one after the other, in some order. */
  function explain(sent: Sent[], answers: Answer[], now: number, acceptedBy: ReadonlyMap<string, KeyId>): boolean {
    // Two keys may send the same record at once. The answers are the same, whichever came first.
    const isAccepted = ({ key }: Sent, { json }: Answer, after: State, before: State) => {
      const owner = acceptedBy.get((json as { id?: string } | undefined)?.id ?? "");
      return after.entries === before.entries || owner === undefined || owner === key.id;
    };
    const search = (before: State, left: number[]): boolean => {
      if (left.length === 0) {
        state = before;
        return true;
      }
      const next = left.flatMap((index) => {
        const after = decide(before, sent[index]!, now, answers[index]!, left.length - 1);
        const isRight = after && isAccepted(sent[index]!, answers[index]!, after, before);
        return !isRight ? [] : [{ after, rest: left.filter((other) => other !== index) }];
      });
      // A request that changes nothing may come first.
      const idle = next.find(({ after }) => after.entries === before.entries);
      return (idle === undefined ? next : [idle]).some(({ after, rest }) => search(after, rest));
    };
    // Workspaces do not affect each other, so each has its own order.
    const workspaces = new Set(sent.map(({ key }) => key.workspace));
    return [...workspaces].every((workspace) =>
      search(state, [...sent.keys()].filter((index) => sent[index]!.key.workspace === workspace))
    );
  }

  /** What `verify` must return. */
  function balances(): LedgerBalance[] {
    const months = new Map<string, Entry[]>();
    for (const entry of state.entries) {
      const name = `${entry.workspace.id} ${entry.month}`;
      months.set(name, [...months.get(name) ?? [], entry]);
    }
    return [...months].sort(([a], [b]) => a < b ? -1 : 1).map(([name, own]) => {
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

const isBody = ({ status, text }: Answer, expected: number, body: unknown): boolean =>
  status === expected && text === JSON.stringify(body);

const isRecorded = (answer: Answer, id: string): boolean =>
  isBody(answer, 201, { id, status: "success", message: "Diagnosis data recorded successfully" });

/** What a read gets of a deployment. */
function answerOf(deployment: Deployment, asked: Asked) {
  const live = servedOf(deployment);
  const rollout = deployment.rollouts.at(-1);
  if (rollout?.isActive !== true || asked === "live") return live;
  const { id, salt, version, percent } = rollout;
  const candidate = servedOf(deployment, version);
  if (asked === "both") return { ...live, rollout: { id, version, percent, salt, prompt: candidate } };
  const digest = createHash("sha256").update(`${deployment.id}.${salt}.${asked.key}`).digest("hex");
  const isCandidate = parseInt(digest.slice(0, 12), 16) / 2 ** 48 < percent / 100;
  return { ...(isCandidate ? candidate : live), rollout: { id, isCandidate } };
}

function servedOf({ id, workspace, name, stack }: Deployment, currentVersion = stack.at(-1)!) {
  const { description, messages, llmConfig } = promptFile;
  return {
    ...{ id: workspace.promptId, title: workspace.titles[currentVersion - 1], description, messages },
    deploy: { id, name, currentVersion, isActive: true },
    workspace: { id: workspace.id, name: workspace.name },
    llmConfig,
  };
}
