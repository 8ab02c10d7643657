// A bucket for tests, behind a proxy that makes faults.
import { createServer, request } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { startFile } from "../conformance/processes.ts";

/** Answers a request in place of the server. Returns whether it did, or that the answer of the server gets lost. */
export type Fault = (request: IncomingMessage, response: ServerResponse) => boolean | "lost";

/** Answers as S3 refuses. */
export function refuse(response: ServerResponse, status: number, code: string, message: string): true {
  response.writeHead(status, { "Content-Type": "application/xml" })
    .end(`<?xml version="1.0"?>\n<Error><Code>${code}</Code><Message>${message}</Message></Error>`);
  return true;
}

/** Starts a server whose data are in a folder. */
export async function startBucket(folder: string) {
  const server = await startFile("Node", "test/runtime/bucket-server.ts", {}, /Listening on (\d+)/, [folder]);
  const port = Number(server.seen);
  let fault: Fault = () => false;
  const seen: string[] = [];
  const proxy = createServer((incoming, response) => {
    seen.push(`${incoming.method} ${incoming.url}`);
    const made = fault(incoming, response);
    if (made === true) return void incoming.resume();
    const { method, url: path, headers } = incoming;
    const passed = request({ host: "127.0.0.1", port, method, path, headers }, (answer) => {
      if (made === "lost") return void answer.resume().on("end", () => response.destroy());
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    passed.on("error", () => response.destroy());
    incoming.on("error", () => passed.destroy());
    incoming.pipe(passed);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  return {
    env: {
      BACKUP_TO: "s3://backups/prod/ledger",
      AWS_ENDPOINT_URL_S3: url,
      AWS_ACCESS_KEY_ID: "S3RVER",
      AWS_SECRET_ACCESS_KEY: "S3RVER",
    },
    /** The requests so far. */
    seen,
    /** Makes faults while work runs. */
    async during<T>(next: Fault, work: () => Promise<T>): Promise<T> {
      fault = next;
      try {
        return await work();
      } finally {
        fault = () => false;
      }
    },
    async stop() {
      proxy.closeAllConnections();
      proxy.close();
      await server.stop("SIGKILL");
    },
  };
}
