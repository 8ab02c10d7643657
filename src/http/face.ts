// A face is a part of a service besides the data plane. An embedder opts in to it by passing it to `createService`.
import type { Clock } from "../common/domain.ts";
import type { Metrics } from "../common/metrics.ts";
import type { Database } from "../database/database.ts";
import type { Route } from "./context.ts";
import type { Run } from "./direct.ts";
import type { Described, Part } from "./openapi-components.ts";

/** Where the description of a service is, if it has one. */
export const openApiPath = "/openapi.json";

/** `Members` is what it adds to the service for the code that embeds it. */
export type Face<Members extends object = object> = {
  /** The path of all its routes, below the base path of the service: `/admin/v1`. */
  readonly path: string;
  /** Secrets that must not show up in logs and responses. */
  readonly secrets: readonly string[];
  /** Creates its routes below a base path. Returns a function that opens them for a service. */
  mount(basePath: string): (host: FaceHost) => Route;
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

/** Adds to a service what its faces make for it. */
export const extend = <S extends object, Faces extends readonly Face[]>(
  service: S,
  faces: Faces | undefined,
  open: () => FaceHost,
): S & Extensions<Faces> => Object.assign(service, ...(faces ?? []).map((face) => face.extend?.(open)));

/** What a service provides to its faces; `faces` are all of them. */
export type FaceHost = {
  database: Database;
  clock: Clock;
  metrics: Metrics;
  faces: readonly Face[];
  hasMetrics: boolean;
  run: Run;
};

export type FaceDescription = {
  tags: Record<string, string>;
  methods: Described[];
  /** Structs that the methods refer to by name. */
  structs: object[];
  responses: Part;
};
