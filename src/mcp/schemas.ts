// JSON Schemas of tools, version 2020-12. Each is complete in itself.
import { namedSchemas } from "../http/openapi-components.ts";
import { schemaOf } from "../schema/struct.ts";
import type { JsonSchema } from "../schema/struct.ts";

/** The schema of a struct, with those that it refers to. */
export function wholeSchema(struct: object): JsonSchema {
  const shared = namedSchemas([struct]);
  const whole = Object.keys(shared).length === 0 ? schemaOf(struct) : { ...schemaOf(struct), $defs: shared };
  return JSON.parse(JSON.stringify(whole).replaceAll('"#/components/schemas/', '"#/$defs/')) as JsonSchema;
}
