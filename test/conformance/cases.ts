// Every statement of the specification as a named case, for any transport.
import { authorizationCases } from "./cases/authorization.ts";
import { batchCases } from "./cases/batches.ts";
import { bodyCases } from "./cases/bodies.ts";
import { idempotencyCases } from "./cases/idempotency.ts";
import { powerCases } from "./cases/powers.ts";
import { readCases } from "./cases/reads.ts";
import { referenceCases } from "./cases/references.ts";
import { revisionCases } from "./cases/revisions.ts";
import { rolloutCases } from "./cases/rollouts.ts";
import { routeCases } from "./cases/routes.ts";
import { submitCases } from "./cases/submits.ts";
import { versionCases } from "./cases/versions.ts";
import type { Case } from "./target.ts";

export const cases: Case[] = [
  ...readCases,
  ...referenceCases,
  ...revisionCases,
  ...authorizationCases,
  ...powerCases,
  ...submitCases,
  ...versionCases,
  ...rolloutCases,
  ...batchCases,
  ...bodyCases,
  ...idempotencyCases,
  ...routeCases,
];
