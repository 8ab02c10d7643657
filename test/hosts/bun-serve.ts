// Bun.serve.
import { announce, createService } from "./service.ts";

declare const Bun: {
  serve(options: { fetch(request: Request): Promise<Response>; hostname: string; port: number }): { port: number };
};

const service = createService();
const { port } = Bun.serve({ fetch: service.fetch, hostname: "127.0.0.1", port: 0 });
announce(port);
