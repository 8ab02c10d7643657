// Secrets of API keys and management tokens. They are shown once, stored as hashes, revoked and rotated.
import { conflict, invalidField, notFound, wrongField } from "../../common/errors.ts";
import { secretPrefix, sha256 } from "../../common/ids.ts";
import type { WorkspaceId } from "../../common/ids.ts";
import type { Row, Statement } from "../../database/database.ts";
import { described, option } from "../../schema/struct.ts";
import type { Members, Struct } from "../../schema/struct.ts";
import * as v from "../kernel/values.ts";
import { nouns } from "../kernel/nouns.ts";
import { operation } from "../kernel/operation.ts";
import type { Management, Operation, Store } from "../kernel/operation.ts";
import { requireRoom } from "../kernel/room.ts";
import { updateOf } from "../kernel/table.ts";

/** Members of API keys and tokens. */
export const prefix = described(v.text, "The first characters of the secret, to tell it from others");
export const expiresAt = described(
  v.moment,
  "The time from which it is refused, in Unix milliseconds. Null if it never expires",
);
export const secretDates = {
  revokedAt: described(v.moment, "When it was revoked, in Unix milliseconds, or null"),
  rotatedAt: described(v.moment, "When its secret was last replaced, in Unix milliseconds, or null"),
  overlapEndsAt: described(v.moment, "Until when the previous secrets stay valid, in Unix milliseconds, or null"),
};
type Holder = {
  id: string;
  workspaceId: WorkspaceId | null;
  expiresAt: number | null;
  revokedAt: number | null;
  rotatedAt: number | null;
  overlapEndsAt: number | null;
};

/** Refuses an expiry of a new secret that is already past. */
export function requireFuture(expiresAt: number | null, now: number): void {
  if (expiresAt !== null && expiresAt <= now) throw wrongField("expiresAt", "in the future");
}

/** Input members of a rotation, without the id. */
export const rotation = {
  overlapMs: option(v.period, "How long the previous secrets stay valid, in milliseconds", { default: 0 }),
  expiresAt: option(v.moment, "The new expiry in Unix milliseconds, or null for none. Default: unchanged"),
};

/** Unset members of a new holder. */
export const unused = { revokedAt: null, rotatedAt: null, overlapEndsAt: null, lastUsedAt: null };

/** A kind of holder, API keys or tokens: the maker of its secrets, and the reader of its rows. */
type Kind<T extends Holder> = {
  example: string;
  create(): string;
  isSecret(text: string): boolean;
  byId(id: T["id"]): Statement;
  toItem(row: Row): T;
};

/** Hash of a secret in the audit log. The stored hash stays hidden, because console sessions depend on it. */
export const loggedHashOf = (storedHash: string): Promise<string> => sha256(storedHash);

/** Issues, revokes and rotates the secrets of a kind. */
export function secretsOf<T extends Holder>(
  auditNoun: "key" | "token",
  { example, create, isSecret, byId, toItem }: Kind<T>,
) {
  const { name: noun, tables: [{ name: table }, { name: secrets, holder: owner }], audit } = nouns[auditNoun];
  const columns = ["expires_at", ...Object.keys(audit.copiedToSecrets)].join(", ");

  /** Adds a secret with this hash to a holder. It expires with the holder. */
  const add = (id: T["id"], hash: string): Statement => ({
    sql: `insert into ${secrets} (hash, ${owner}, ${columns}) select ?, id, ${columns} from ${table} where id = ?`,
    args: [hash, id],
  });

  /**
   * Makes a secret. Returns it with the prefix for lists, the statement that adds it to the holder, and its hash in the
   * audit log.
   */
  async function issue(id: T["id"]): Promise<{ secret: string; prefix: string; secretHash: string; added: Statement }> {
    const secret = create(), hash = await sha256(secret);
    return { secret, prefix: secretPrefix(secret), secretHash: await loggedHashOf(hash), added: add(id, hash) };
  }

  /** Returns a holder. Throws if it does not exist. The error does not repeat a secret that was sent as the id. */
  async function requireHolder({ database }: Store, id: T["id"]): Promise<T> {
    if (isSecret(id)) throw invalidField("id", `${example}, not by its secret`);
    const [row] = await database.read(byId(id));
    if (row === undefined) throw notFound(noun, id);
    return toItem(row);
  }

  /** Refuses all secrets from the next request on. */
  async function revoke(management: Management, id: T["id"]): Promise<T> {
    const before = await requireHolder(management, id);
    if (before.revokedAt !== null) return before;
    const revokedAt = management.clock();
    const after = { ...before, revokedAt };
    await management.commit([{ action: `${auditNoun}.revoked`, id, workspaceId: before.workspaceId, before, after }], [
      updateOf(table, id, { revokedAt }),
      { sql: `update ${secrets} set expires_at = 0 where ${owner} = ?`, args: [id] },
    ]);
    return after;
  }

  /** Gives a holder a new secret. The previous ones stay valid for the overlap. */
  async function rotate(
    management: Management,
    id: T["id"],
    { overlapMs = 0, expiresAt: newExpiry }: Members<typeof rotation>,
  ): Promise<{ rotated: T; secret: string }> {
    const before = await requireHolder(management, id);
    const now = management.clock();
    const expiresAt = newExpiry === undefined ? before.expiresAt : newExpiry;
    if (before.revokedAt !== null) throw conflict(`${noun} ${id} is revoked`);
    if (expiresAt !== null && expiresAt <= now) throw conflict(`${noun} ${id} has expired: give it a new expiry`);
    if (overlapMs > 0) await requireRoom(management, `${auditNoun}Secrets`, id);
    const { secret, prefix, secretHash, added } = await issue(id);
    const end = Math.min(now + overlapMs, expiresAt ?? Infinity, before.expiresAt ?? Infinity);
    const overlapEndsAt = end > now ? end : null;
    const changed = { prefix, expiresAt, rotatedAt: now, overlapEndsAt };
    const after = { ...before, ...changed };
    const logged = { before, after: { ...after, secretHash } };
    await management.commit([{ action: `${auditNoun}.rotated`, id, workspaceId: before.workspaceId, ...logged }], [
      updateOf(table, id, changed),
      {
        // A secret that was replaced earlier may expire sooner. Without an overlap it is 0, because clocks differ: only
        // a time long past is past for every service.
        sql: `update ${secrets} set expires_at = min(coalesce(expires_at, :end), :end) where ${owner} = :id`,
        args: { id, end: overlapEndsAt ?? 0 },
      },
      added,
    ]);
    return { rotated: after, secret };
  }

  /** Operations that show a holder, revoke it, and rotate its secret. `requireMay` refuses a caller who may not. */
  function operations<const Name extends string, const Member extends string>(
    name: Name,
    { words, path, output, issued, member, requireMay }: {
      words: string;
      path: string;
      output: Struct<T, unknown>;
      issued: Struct<T & Record<Member, string>, unknown>;
      /** Member of `issued` with the secret. */
      member: Member;
      requireMay?(management: Management, id: T["id"], action: "revoke" | "rotate"): Promise<void>;
    },
  ) {
    const id = v.idOf(auditNoun) as Struct<unknown> as Struct<string>;
    type Of<Verb extends string, Input, Output> = Operation<Input & { id: T["id"] }, Output, `${Verb}${Name}`>;
    return {
      get: operation({
        id: `get${name}`,
        summary: `Show ${words} without its secret`,
        method: "GET",
        path: `${path}/{id}`,
        command: `${auditNoun} show ID`,
        input: { id },
        output,
        run: (management, { id }) => requireHolder(management, id),
      }) as Of<"get", object, T>,
      revoke: operation({
        id: `revoke${name}`,
        summary: `Revoke ${words}. All its secrets are refused from the next request on`,
        method: "POST",
        path: `${path}/{id}/revoke`,
        role: "admin",
        command: `${auditNoun} revoke ID`,
        input: { id },
        output,
        async run(management, { id }) {
          await requireMay?.(management, id, "revoke");
          return await revoke(management, id);
        },
      }) as Of<"revoke", object, T>,
      rotate: operation({
        id: `rotate${name}`,
        summary:
          `Replace the secret of ${words}. The new one is shown only once, and the old one stays valid for the ` +
          "overlap, by default not at all",
        method: "POST",
        path: `${path}/{id}/rotate`,
        role: "admin",
        command: `${auditNoun} rotate ID [--overlap DURATION] [--expires EXPIRY]`,
        input: { id, ...rotation },
        output: issued,
        conflicts: true,
        async run(management, { id, ...input }) {
          await requireMay?.(management, id, "rotate");
          const { rotated, secret } = await rotate(management, id, input);
          return { ...rotated, [member]: secret } as T & Record<Member, string>;
        },
      }) as Of<"rotate", Members<typeof rotation>, T & Record<Member, string>>,
    };
  }

  return { issue, requireHolder, operations };
}
