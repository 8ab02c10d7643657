// The faces of a service with a process, or a Worker, of its own.
import type { Config } from "../common/config.ts";
import { consolePagesWith } from "../console/face.ts";
import type { ConsoleFace } from "../console/face.ts";
import type { Face } from "../http/face.ts";
import { feedback } from "../http/feedback.ts";
import { management } from "../http/management.ts";
import { openapi } from "../http/openapi.ts";

/** Makes all faces for the settings, and adds others. While management is off, the console says which settings turn it on. */
export function servedFaces(
  { adminToken, management: tokens }: Pick<Config, "adminToken" | "management">,
  others: readonly Face[] = [],
): { pages: ConsoleFace; faces: Face[] } {
  const pages = consolePagesWith({ mayBeOff: true });
  return { pages, faces: [management({ adminToken, tokens }), openapi(), feedback(), pages, ...others] };
}
