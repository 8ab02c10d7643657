// A face: a part of a service besides the data plane, which an embedder opts in to by handing it to `createService`.
import type { Clock } from "../common/domain.ts";
import type { Database } from "../database/database.ts";
import type { Route } from "./context.ts";
import type { Described, Part } from "./openapi-components.ts";

/** Where the description of a service is, if it has one. */
export const openApiPath = "/openapi.json";

export type Face = {
  /** The path under which all of it is, below the base path of the service: `/admin/v1`. */
  readonly path: string;
  /** Secrets that must not show up in logs and answers. */
  readonly secrets: readonly string[];
  /** Makes its routes below a base path; gives a function that opens them for a service. */
  mount(basePath: string): (host: FaceHost) => Route;
  /** What the description of the service says of it. */
  describe(): FaceDescription;
};

/** What a face gets of the service that it belongs to: `faces` are all of that service. */
export type FaceHost = { database: Database; clock: Clock; faces: readonly Face[]; hasMetrics: boolean };

export type FaceDescription = {
  tags: Record<string, string>;
  methods: Described[];
  /** Structs that the methods refer to by name. */
  structs: object[];
  responses: Part;
};
