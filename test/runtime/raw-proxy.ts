// A proxy for tests, on sockets alone: it takes CONNECT and whole URLs, and leads all of them to ports of this machine.
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";

export type RawProxy = {
  url: string;
  /** The heads of the requests that it got. */
  heads: string[];
  close(): void;
};

/** `portOf` gives the port for a target such as `example.com:443`, or the answer to it; undefined for none, ever. */
export async function startProxy(portOf: (target: string) => number | string | undefined): Promise<RawProxy> {
  const heads: string[] = [], sockets = new Set<Socket>();

  function answer(socket: Socket, bytes: Buffer): void {
    const text = bytes.toString("latin1"), [head = ""] = text.split("\r\n\r\n");
    heads.push(head);
    const [method, target = ""] = head.split(" "), isTunnel = method === "CONNECT";
    const { host, port } = new URL(isTunnel ? `http://${target}` : target);
    const own = portOf(isTunnel ? target : `${host}${port === "" ? ":80" : ""}`);
    if (own === undefined) return;
    if (typeof own === "string") return void socket.end(own);
    socket.pause();
    const onward = connect(own, "127.0.0.1", () => {
      if (isTunnel) socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      // A server takes the path of a URL alone, and what follows on this connection would not be rewritten.
      else onward.write(text.replace(/ http:\/\/[^/ ]+/, " ").replace("\r\n", "\r\nConnection: close\r\n"), "latin1");
      socket.pipe(onward).pipe(socket);
    });
    onward.on("error", () => socket.destroy());
    sockets.add(onward);
  }

  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).once("data", (bytes) => answer(socket, bytes));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    heads,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
