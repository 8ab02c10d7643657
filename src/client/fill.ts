// Fills in the variables of a prompt's messages, by the same rules as the service.
import { fillText, soleVariable } from "../common/template.ts";
import { MissingVariablesError, need } from "./errors.ts";
import type { Message } from "./shapes.ts";

/** Values of variables by their names. One that is undefined or null counts as missing. */
export type Values = Readonly<Record<string, Value | null | undefined>>;
export type Value = string | number | bigint | boolean;

/** Messages to put in the place of a message whose content is one variable and nothing else, by the variable's name. */
export type MessageLists = Readonly<Record<string, readonly object[]>>;

/** What happens to variables without a value: `throw` is the default, `keep` leaves them, `empty` removes them. */
export type FillOptions = { missing?: "throw" | "keep" | "empty" };

/** A member that is the object's own. */
export const own = <T>(object: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined;

/**
 * Fills in the `{{variables}}` in all strings of the messages but keys. Nothing in a value is filled in again. `{{"{{"}}` becomes
 * `{{`, unless `missing` is `keep`. Returns new
 * messages. Throws a MissingVariablesError if a variable has no value, unless `missing` is `keep` or `empty`.
 *
 * @example
 * const { messages } = await service.readPrompt({ key, deployId });
 * const filled = render(messages, { shop: "Acme" }, { history: [{ role: "user", content: "Hello" }] });
 */
export const fillMessages = (
  messages: readonly Message[],
  values: Values = {},
  lists: MessageLists = {},
  { missing }: FillOptions = {},
): Message[] => {
  const names = new Set<string>();

  const textOf = (name: string): string | undefined => {
    const value = own(values, name) ?? (missing === "empty" ? "" : undefined);
    // A careless value would put "[object Object]" before the model.
    need(Object(value) !== value, `Variable ${name} must be a text`);
    if (value === undefined) names.add(name);
    return value?.toString();
  };

  const fill = (message: Message) =>
    JSON.parse(
      JSON.stringify(message),
      (_, value) => typeof value === "string" ? fillText(value, textOf, missing === "keep") : value,
    );

  const filled = messages.flatMap((message) =>
    own(lists, soleVariable(message.content as string) ?? "") ?? fill(message)
  );
  if (names.size > 0 && missing !== "keep") throw new MissingVariablesError([...names]);
  return filled as Message[];
};
