// Version and commit of this build.
import { version } from "./version.ts";

/**
 * The version, and the commit: 12 hexadecimal digits, undefined if unknown. `npm pack` writes it here
 * (`runtime/commit.ts`). In a checkout the service and the command line find it when they start.
 */
export const build: { readonly version: string; commit: string | undefined } = { version, commit: undefined };

/** `0.3.0 (1a2b3c4d5e6f)` */
export const describeBuild = (): string => build.version + (build.commit === undefined ? "" : ` (${build.commit})`);
