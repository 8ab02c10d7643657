// The servers that the service is mounted in, and the runtimes that each is for. Each is a file that runs on its own.
import type { Runtime } from "../runtimes.ts";

export type Host = {
  name: string;
  file: string;
  runtimes: Runtime[];
  /** It runs on workerd, which is sent no signal to close the service. */
  isWorker?: boolean;
  /** Its requests can be read twice: the service gets the body though other middleware has read it. */
  isRereadable?: boolean;
};

export const hosts: Host[] = [
  { name: "node:http", file: "node-http", runtimes: ["Node"] },
  { name: "Express", file: "express", runtimes: ["Node"] },
  { name: "Fastify", file: "fastify", runtimes: ["Node"] },
  { name: "Koa", file: "koa", runtimes: ["Node"] },
  { name: "Hono", file: "hono", runtimes: ["Node", "Bun", "Deno"] },
  { name: "Hono's mount", file: "hono-mount", runtimes: ["Node", "Bun", "Deno"] },
  { name: "h3 2", file: "h3", runtimes: ["Node", "Bun", "Deno"] },
  { name: "h3 1", file: "h3-1", runtimes: ["Node"] },
  { name: "whatwg-node", file: "whatwg-node", runtimes: ["Node"], isRereadable: true },
  { name: "React Router", file: "react-router", runtimes: ["Node"] },
  { name: "Workers", file: "worker", runtimes: ["Node"], isWorker: true },
  { name: "Bun.serve", file: "bun-serve", runtimes: ["Bun"] },
  { name: "Elysia", file: "elysia", runtimes: ["Bun"] },
  { name: "Elysia's mount", file: "elysia-mount", runtimes: ["Bun"] },
  { name: "Deno.serve", file: "deno-serve", runtimes: ["Deno"] },
];

/** Hosts whose body parser comes first, and keeps the raw body for the service. */
export const hostsWithRawBody: Host[] = [
  { name: "Express after a parser that keeps the raw body", file: "express-raw-body", runtimes: ["Node"] },
  { name: "Express after its raw parser", file: "express-raw-parser", runtimes: ["Node"] },
];

/** Hosts that are set up wrongly: their body parser takes the body before the service can read it. */
export const hostsAfterParser: Host[] = [
  { name: "Express after its parser", file: "express-after-parser", runtimes: ["Node"] },
  { name: "Fastify with its parser", file: "fastify-after-parser", runtimes: ["Node"] },
  { name: "whatwg-node after Express's parser", file: "whatwg-node-after-parser", runtimes: ["Node"] },
];
