// A face is an optional part of a service beyond the data plane. An embedder passes it to `createService`.
import type { Clock } from "../common/domain.ts";
import type { Metrics } from "../common/metrics.ts";
import type { Database } from "../database/database.ts";
import type { Route } from "./context.ts";

/** Path of the description of a service, if it has one. */
export const openApiPath = "/openapi.json";

/** Path of the management API of a service, if it has one. */
export const adminPath = "/admin/v1";

/** Path of the console, if the service has one. Its route also answers the root of the service, while it is on. */
export const consolePath = "/console";

/** Path for agents, by the Model Context Protocol, if the service has that face. */
export const mcpPath = "/mcp";

/** `Members` are added to the service for the code that embeds it. */
export type Face<Members extends object = object> = {
  /** The path of its routes, below the base path of the service: `/admin/v1`. */
  readonly path: string;
  /** The patterns of its routes, if they are not all below its path. */
  readonly routes?: readonly string[];
  /** The call that makes it: `management()`. */
  readonly name?: string;
  /** Name of another face that it requires. */
  readonly needs?: string;
  /** Secrets that must not show up in logs and responses. */
  readonly secrets: readonly string[];
  /** Creates its routes below a base path, with other faces. Returns a function that opens them for a service. */
  mount(basePath: string, faces: readonly Face[]): (host: FaceHost) => Route;
  /** Its part of the OpenAPI description. */
  describe(): FaceDescription;
  /** Makes its members of a service. Each call gets its host from `open`. */
  extend?(open: () => FaceHost): Members;
};

type MembersOf<F> = F extends Face<infer Members> ? (members: Members) => void : never;

/** Members that these faces add to a service. */
export type Extensions<Faces extends readonly Face[]> = MembersOf<Faces[number]> extends (members: infer All) => void
  ? All
  : never;

/** A face's name; any text if its type has none. */
type NameOf<F> = F extends { name: infer Name extends string } ? Name : string;

/** Error of `checkBeside` for the first incompatible face. `never` if none is incompatible by its type. */
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

/** Constraint on a service's options: TypeScript refuses incompatible faces. */
export type Checked<Faces extends readonly Face[]> = [FaultOf<Faces>] extends [never] ? unknown
  : { faces: FaultOf<Faces> };

/** Adds the members of its faces to a service. */
export const extend = <S extends object, Faces extends readonly Face[]>(
  service: S,
  faces: Faces | undefined,
  open: () => FaceHost,
): S & Extensions<Faces> => Object.assign(service, ...(faces ?? []).map((face) => face.extend?.(open)));

/** Counts a call as in flight. Turns every error into a `Refusal` that has the original as its `cause`. */
export type Run = <T>(work: () => Promise<T>) => Promise<T>;

/** Parts of a service that its faces use; `faces` are all of them. */
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

/** A face's part of the OpenAPI description. */
export type FaceDescription = {
  tags: Record<string, string>;
  methods: Described[];
  /** Webhooks of the service, by name. */
  webhooks?: Part;
  /** Structs that the methods refer to by name. */
  structs: object[];
  responses: Part;
};
