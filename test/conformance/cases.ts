// Every statement of the specification, as a named case that any transport can carry.
import { authorizationCases } from "./cases/authorization.ts";
import { bodyCases } from "./cases/bodies.ts";
import { idempotencyCases } from "./cases/idempotency.ts";
import { readCases } from "./cases/reads.ts";
import { routeCases } from "./cases/routes.ts";
import { submitCases } from "./cases/submits.ts";
import type { Case } from "./target.ts";

export const cases: Case[] = [
  ...readCases,
  ...authorizationCases,
  ...submitCases,
  ...bodyCases,
  ...idempotencyCases,
  ...routeCases,
];
