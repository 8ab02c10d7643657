// Every operation as a function, for code that embeds the service, made from the list of operations with their types.
import { stringify } from "../common/json-text.ts";
import type { JsonText } from "../common/json-text.ts";
import { parseObject } from "../schema/parse.ts";
import type { Export } from "./kernel/export.ts";
import { operations } from "./index.ts";
import type { Operations } from "./index.ts";
import { perform } from "./kernel/operation.ts";
import type { AnyOperation, Operation, Session } from "./kernel/operation.ts";

/** The operations of management by their ids, as the OpenAPI description has them. They reject with a `Refusal`. */
export type Admin = { [O in Operations as O["id"]]: Call<O> };

type Call<O> = O extends Operation<infer Input, infer Output, infer _>
  ? Record<never, never> extends Input ? (input?: Given<Input>) => Promise<Result<Output>>
  : (input: Given<Input>) => Promise<Result<Output>>
  : never;

/** Input of a call: a text of any form for an id or a name, and values for JSON texts. */
type Given<T> = T extends JsonText<infer Value> ? Json<Value>
  : T extends string ? Record<never, never> extends Record<T, 1> ? string : T
  : T extends object ? { [Name in keyof T]: Given<T[Name]> }
  : T;

/** Output of a call: values for JSON texts. An export stays the generator of its text. */
type Result<T> = T extends Export | string ? T
  : T extends JsonText<infer Value> ? Json<Value>
  : T extends object ? { [Name in keyof T]: Result<T[Name]> }
  : T;

/** Objects in a list, such as messages, may have more members than the service names. */
type Json<Value> = Value extends (infer Item)[] ? (Item & Record<string, unknown>)[] : Value;

/** Runs a call in a session, which may depend on the operation. It may refuse. */
type Run = (operation: AnyOperation, call: (session: Session) => Promise<unknown>) => Promise<unknown>;

/** Makes the functions. */
export const adminOf = (run: Run): Admin =>
  Object.fromEntries(operations.map((operation) => [operation.id, callOf(operation, run)])) as Admin;

const callOf = (operation: AnyOperation, run: Run) => (input: object = {}) =>
  run(operation, async (session) => {
    const output = await perform(operation, session, parseObject(JSON.stringify(input), "Input"));
    return operation.answers === "export" ? output : JSON.parse(stringify(output));
  });
