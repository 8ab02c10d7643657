// A TCP proxy that fails as networks do.
import { Buffer } from "node:buffer";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";

export type Proxy = {
  url: string;
  /**
   * - `sound` forwards requests and replies.
   * - `silent` accepts requests and never answers.
   * - `deaf` forwards requests, and drops the connection at the reply.
   * - `stale` forwards requests, and answers with the previous reply.
   */
  mode: "sound" | "silent" | "deaf" | "stale";
  /** How many replies were dropped or replaced. */
  lost: number;
  close(): void;
};

/** Starts a proxy in front of a server. */
export async function startProxy(target: string): Promise<Proxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let before = Buffer.alloc(0);
  const server = createServer((client) => {
    const upstream = connect({ host: hostname, port: Number(port) });
    const end = () => {
      client.destroy();
      upstream.destroy();
      sockets.delete(client);
    };
    sockets.add(client);
    for (const socket of [client, upstream]) socket.on("error", end).on("close", end);
    client.on("data", (data) => {
      if (proxy.mode !== "silent") upstream.write(data);
    });
    upstream.on("data", (data) => {
      if (proxy.mode === "deaf") {
        proxy.lost++;
        end();
        return;
      }
      if (proxy.mode === "stale") proxy.lost++;
      client.write(proxy.mode === "stale" ? before : data);
      before = data;
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const proxy: Proxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    mode: "sound",
    lost: 0,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
  return proxy;
}
