// Every operation as a function, for code that embeds the service. They are made from the list of operations, with their types.
import { stringify } from "../common/json-text.ts";
import type { JsonText } from "../common/json-text.ts";
import { parseObject } from "../schema/parse.ts";
import { isExport } from "./export.ts";
import type { Export } from "./export.ts";
import { operations } from "./index.ts";
import type { Operations } from "./index.ts";
import { perform } from "./operation.ts";
import type { AnyOperation, Operation, Session } from "./operation.ts";

/** The operations of management by their ids, as the OpenAPI description has them. They reject with a `Refusal`. */
export type Admin = { [O in Operations as O["id"]]: Call<O> };

type Call<O> = O extends Operation<infer Input, infer Output, infer _>
  ? Record<never, never> extends Input ? (input?: Given<Input>) => Promise<Result<Output>>
  : (input: Given<Input>) => Promise<Result<Output>>
  : never;

/** What a caller gives: a text of any form for an id or a name, and values for JSON texts. */
type Given<T> = T extends JsonText<infer Value> ? Json<Value>
  : T extends string ? Record<never, never> extends Record<T, 1> ? string : T
  : T extends object ? { [Name in keyof T]: Given<T[Name]> }
  : T;

/** What a caller gets: values for JSON texts. An export stays the generator of its text. */
type Result<T> = T extends Export | string ? T
  : T extends JsonText<infer Value> ? Json<Value>
  : T extends object ? { [Name in keyof T]: Result<T[Name]> }
  : T;

/** Objects in a list, such as messages, may have more members than the service names. */
type Json<Value> = Value extends (infer Item)[] ? (Item & Record<string, unknown>)[] : Value;

/** Makes the functions. Each call runs in a session of `run`, which may refuse it. */
export const adminOf = (run: (call: (session: Session) => Promise<unknown>) => Promise<unknown>): Admin =>
  Object.fromEntries(operations.map((operation) => [operation.id, callOf(operation, run)])) as Admin;

const callOf = (operation: AnyOperation, run: Parameters<typeof adminOf>[0]) => (input: object = {}) =>
  run(async (session) => toResult(await perform(operation, session, parseObject(JSON.stringify(input), "Input"))));

const toResult = (output: unknown): unknown => isExport(output) ? output : JSON.parse(stringify(output));
