// A face is a part of a service besides the data plane. An embedder opts in to it by passing it to `createService`.
import type { Clock } from "../common/domain.ts";
import type { Metrics } from "../common/metrics.ts";
import type { Database } from "../database/database.ts";
import type { Route } from "./context.ts";

/** Where the description of a service is, if it has one. */
export const openApiPath = "/openapi.json";

/** Where the management API of a service is, if it has one. */
export const adminPath = "/admin/v1";

/** Where the console of a service is, if it has one. Its route also answers the root of the service, while it is on. */
export const consolePath = "/console";

/** Where agents reach a service by the Model Context Protocol, if it has that face. */
export const mcpPath = "/mcp";

/** `Members` is what it adds to the service for the code that embeds it. */
export type Face<Members extends object = object> = {
  /** The path of its routes, below the base path of the service: `/admin/v1`. */
  readonly path: string;
  /** The patterns of its routes, if they are not all below its path. */
  readonly routes?: readonly string[];
  /** How an embedder makes it: `management()`. */
  readonly name?: string;
  /** The name of another face that must be beside it. */
  readonly needs?: string;
  /** Secrets that must not show up in logs and responses. */
  readonly secrets: readonly string[];
  /** Creates its routes below a base path, beside other faces. Returns a function that opens them for a service. */
  mount(basePath: string, faces: readonly Face[]): (host: FaceHost) => Route;
  /** Its part of the OpenAPI description. */
  describe(): FaceDescription;
  /** Makes what it adds to a service. Each call asks `open` for its host. */
  extend?(open: () => FaceHost): Members;
};

type MembersOf<F> = F extends Face<infer Members> ? (members: Members) => void : never;

/** What all of these faces add to a service. */
export type Extensions<Faces extends readonly Face[]> = MembersOf<Faces[number]> extends (members: infer All) => void
  ? All
  : never;

/** Any text, where the type of a face does not tell. */
type NameOf<F> = F extends { name: infer Name extends string } ? Name : string;

/** What `checkBeside` would say of the first of these faces that it refuses. `never` if it refuses none that is known by its type. */
type FaultOf<Faces extends readonly Face[], All extends readonly Face[] = Faces> = Faces extends
  readonly [infer First extends Face, ...infer Rest extends readonly Face[]]
  ? string extends NameOf<First> | NameOf<Rest[number]> ? FaultOf<Rest, All>
  : NameOf<First> extends NameOf<Rest[number]> ? `faces has ${NameOf<First>} twice`
  : First extends { needs: infer Needs extends string }
    ? Needs extends NameOf<All[number]> ? [Extract<All[number], { isOn: false }>] extends [never] ? FaultOf<Rest, All>
      : `${NameOf<First>} needs adminToken or tokens of ${Needs}: nobody can sign in`
    : `${NameOf<First>} needs ${Needs} beside it`
  : FaultOf<Rest, All>
  : never;

/** What a service's options must be too, so that TypeScript refuses its faces. */
export type Checked<Faces extends readonly Face[]> = [FaultOf<Faces>] extends [never] ? unknown
  : { faces: FaultOf<Faces> };

/** Adds to a service what its faces make for it. */
export const extend = <S extends object, Faces extends readonly Face[]>(
  service: S,
  faces: Faces | undefined,
  open: () => FaceHost,
): S & Extensions<Faces> => Object.assign(service, ...(faces ?? []).map((face) => face.extend?.(open)));

/** Counts a call as in flight, and makes every error of it a `Refusal`, with what it makes one of as its `cause`. */
export type Run = <T>(work: () => Promise<T>) => Promise<T>;

/** What a service provides to its faces; `faces` are all of them. */
export type FaceHost = {
  database: Database;
  clock: Clock;
  metrics: Metrics;
  faces: readonly Face[];
  hasMetrics: boolean;
  run: Run;
};

/** A part of the OpenAPI description. */
export type Part = Readonly<Record<string, unknown>>;

/** A method of a path. */
export type Described = Part & { path: string; method: string; operationId: string; summary: string; responses: Part };

/** What the OpenAPI description says of a face. */
export type FaceDescription = {
  tags: Record<string, string>;
  methods: Described[];
  /** What the service sends, by name. */
  webhooks?: Part;
  /** Structs that the methods refer to by name. */
  structs: object[];
  responses: Part;
};
