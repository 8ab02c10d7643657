// Fills in the variables of a prompt's messages, by the same rules as the service.
import { fillText, soleVariable } from "../support/template.ts";
import { MissingVariablesError, need } from "./errors.ts";
import type { Message } from "../schema/shapes.ts";

/** Values of variables by name. Undefined and null count as missing. */
export type Values = Readonly<Record<string, Value | null | undefined>>;
export type Value = string | number | bigint | boolean;

/** Lists of messages by variable name. Each replaces a message whose content is only that variable. */
export type MessageLists = Readonly<Record<string, readonly object[]>>;

/** Handling of variables without a value: `throw` is the default, `keep` leaves them, `empty` removes them. */
export type FillOptions = { missing?: "throw" | "keep" | "empty" };

/** Returns an own member, or undefined. */
export const own = <T>(object: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined;

/**
 * Fills in the `{{variables}}` in all strings of the messages but keys. Values are not filled in again. `{{"{{"}}`
 * becomes `{{`, unless `missing` is `keep`. Returns new messages. Throws a MissingVariablesError if a variable has no
 * value, unless `missing` is `keep` or `empty`.
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
    // Otherwise the model would read "[object Object]".
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
