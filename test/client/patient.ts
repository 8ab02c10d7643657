// The client of applications that tests run: it waits for a service on a slow machine.
import { createClient as create } from "../../src/client/index.ts";
import type { ClientOptions } from "../../src/client/index.ts";

export * from "../../src/client/index.ts";

export const createClient = (options: ClientOptions = {}) => create({ readTimeout: 120_000, ...options });
