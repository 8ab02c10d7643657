// GET /v1/usage: the use of the quota by the key's workspace. It costs nothing.
import { checkKey } from "./admit.ts";
import type { Context, RequestContext } from "../context.ts";
import { ok } from "../respond.ts";
import type { Answer } from "../respond.ts";

export const readUsage = async (ctx: RequestContext, context: Context): Promise<Answer> =>
  ok((await checkKey(ctx, context, "check")).usage, {});
