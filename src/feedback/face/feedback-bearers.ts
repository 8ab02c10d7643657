// Authenticates feedback: from an application by its API key, or from a browser by a token that the application
// created.
import { createCache } from "../../common/cache.ts";
import type { Clock } from "../../common/domain.ts";
import { feedbackTokenExpired, invalidFeedbackToken } from "../../common/errors.ts";
import { isFeedbackToken, isSignedWith, readFeedbackToken } from "../../support/feedback-token.ts";
import type { FeedbackGrant } from "../../support/feedback-token.ts";
import type { WorkspaceId } from "../../common/ids.ts";
import type { Database } from "../../database/database.ts";
import { text } from "../../database/row.ts";
import { feedbackAuthor } from "../../schema/feedback.ts";
import { headerOf, readBearer, readValidKey } from "../../http/authorization.ts";
import type { ValidKey } from "../../http/authorization.ts";
import { whileUnread } from "../../http/body.ts";
import type { Context, RequestContext } from "../../http/context.ts";

/** An API key by its hash, its workspace, and the grant of its token, if there is one. */
export type Bearer = ValidKey & { grant?: FeedbackGrant };

/** Rejects with a refusal for an invalid key or token, before the body is read. */
export type Authenticate = (ctx: RequestContext, context: Context) => Promise<Bearer>;

const maxTokens = 10_000; // that are remembered as signed

export function createBearers(database: Database, clock: Clock): Authenticate {
  // The signer of a token never changes. The key's validity is checked with each piece of feedback.
  const signers = createCache<ValidKey>(maxTokens);

  async function findSigner(token: string, keyHashStart: string): Promise<ValidKey | undefined> {
    const known = signers.get(token);
    if (known !== undefined) return known;
    const rows = await database.read({
      sql: `select hash, workspace_id from api_key_secrets
        where hash >= :start and hash < :start || 'g' and (expires_at is null or expires_at > :now) limit 2`,
      args: { start: keyHashStart, now: clock() },
    });
    for (const row of rows) {
      const signer = { keyHash: text(row, "hash"), workspaceId: text<WorkspaceId>(row, "workspace_id") };
      if (!await isSignedWith(signer.keyHash, token)) continue;
      signers.set(token, signer, 1);
      return signer;
    }
    return undefined;
  }

  return async (ctx, context) => {
    const header = headerOf(ctx.request);
    const token = header === "" ? "" : readBearer(header);
    if (!isFeedbackToken(token)) return await readValidKey(ctx, context);
    const said = readFeedbackToken(token);
    if (said === undefined || !feedbackAuthor.is(said.author)) throw invalidFeedbackToken();
    const { keyHashStart, ...grant } = said;
    const signer = await whileUnread(ctx, context, () => findSigner(token, keyHashStart));
    if (signer === undefined) throw invalidFeedbackToken();
    if (grant.expires * 1000 <= clock()) throw feedbackTokenExpired();
    ctx.logContext.workspaceId = signer.workspaceId;
    return { ...signer, grant };
  };
}
