// Structs of single values. Pure ones are not in the core: a bundle contains them only if it uses them.
import { isMonth } from "../common/month.ts";
import type { DeploymentRef } from "../common/reference.ts";
import { described, isObject, predicate } from "./struct.ts";
import type { JsonSchema } from "./struct.ts";

/** A text that matches a pattern. `words` continue the sentence "Field x must be …". */
export const matching = (words: string, pattern: string, more: JsonSchema = {}, flags?: string) => {
  const regExp = new RegExp(pattern, flags);
  return predicate<string>(words, (value) => typeof value === "string" && regExp.test(value), {
    ...{ type: "string", pattern, ...more },
  });
};

const max = Number.MAX_SAFE_INTEGER;
export const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

/** A text with its own type, such as an id in a response. */
export const textAs = <T extends string>() =>
  predicate<T>("a string", (value) => typeof value === "string", { type: "string" });
export const text = textAs<string>();
/** True for a text of at most `max` characters. Its UTF-16 units decide most cases without counting. */
const isShort = (value: unknown, max: number): value is string =>
  typeof value === "string" && value.length <= 2 * max && (value.length <= max || [...value].length <= max);
const maxNameLength = 512; // characters
/** A client's own name for something. Its length is bounded because an index contains it. */
export const clientName = predicate<string>(
  `a string of at most ${maxNameLength} characters`,
  (value) => isShort(value, maxNameLength),
  { type: "string", maxLength: maxNameLength },
);
/** True if a value can name a deployment. */
export const isDeployId = (value: unknown): value is DeploymentRef => isShort(value, 300) && value !== "";
/** True if a text can pick a version of a rollout. */
export const isRolloutKey = (key: string): boolean => isShort(key, 200) && key !== "";
export const rolloutKey = /* @__PURE__ */ predicate<string>(
  "a string of 1 to 200 characters",
  (value) => typeof value === "string" && isRolloutKey(value),
  { type: "string", minLength: 1, maxLength: 200 },
);
/** An id of a deployment, or a reference. */
export const deployId = predicate<DeploymentRef>(
  `a string of 1 to 300 characters`,
  isDeployId,
  { type: "string", minLength: 1, maxLength: 300 },
);
export const isIdempotencyKey = (value: unknown): value is string =>
  typeof value === "string" && /^[ -~]{1,255}$/.test(value);
export const idempotencyKey = predicate<string>(
  "1 to 255 printable ASCII characters",
  isIdempotencyKey,
  { type: "string" },
);
export const filledText = /* @__PURE__ */ predicate<string>(
  "a non-empty string",
  (value) => typeof value === "string" && value !== "",
  { type: "string", minLength: 1 },
);
export const boolean = /* @__PURE__ */ predicate<boolean>("true or false", (value) => typeof value === "boolean", {
  type: "boolean",
});

/** A whole number. `unit` continues "an integer", and `more` adds to the schema. */
export const integerIn = (minimum: number, maximum = max, unit = "", more?: JsonSchema) =>
  predicate<number>(
    `an integer${unit} from ${minimum} to ${maximum}`,
    (value) => Number.isSafeInteger(value) && value as number >= minimum && value as number <= maximum,
    { type: "integer", minimum, maximum, ...more },
  );
export const count = /* @__PURE__ */ integerIn(0);
export const positive = integerIn(1);
export const integer = integerIn(-max);
export const timestamp = integerIn(0, max, " of Unix milliseconds", { description: "Unix milliseconds" });
export const duration = predicate<number>(
  "a finite number of milliseconds, at least 0",
  (value) => Number.isFinite(value) && Number(value) >= 0,
  { type: "number", minimum: 0, description: "Milliseconds" },
);
export const anyObject = predicate<Record<string, unknown>>("an object", isObject, { type: "object" });

export const webUrl = /* @__PURE__ */ predicate<string | null>(
  "an http or https URL, or null",
  (value) => value === null || typeof value === "string" && /^https?:\/\/\P{Cc}*$/iu.test(value) && URL.canParse(value),
  {
    type: ["string", "null"],
    pattern: "^[Hh][Tt][Tt][Pp][Ss]?://[^\\u0000-\\u001f\\u007f-\\u009f]*$",
    description: "An http or https URL, or null",
  },
);
/** A moment in the unit of the specification's `resetTime`. */
export const seconds = /* @__PURE__ */ described(integer, "Unix seconds");
export const month = /* @__PURE__ */ predicate<string>(
  "a month such as 2027-01",
  (value) => typeof value === "string" && isMonth(value),
  {
    type: "string",
    description: "A month, UTC",
    pattern: "^[1-9][0-9]{3}-(0[1-9]|1[0-2])$",
  },
);
export const numeric = /* @__PURE__ */ predicate<number>("a number", (value) => Number.isFinite(value), {
  type: "number",
});
export const numberIn = (minimum: number, maximum: number) =>
  predicate<number>(
    `a number from ${minimum} to ${maximum}`,
    (value) => typeof value === "number" && value >= minimum && value <= maximum,
    { type: "number", minimum, maximum },
  );
export const share = /* @__PURE__ */ numberIn(0, 1);
