// React Router 7 in framework mode behind Express, as its template has it. In an application the module of the route is a
// file, `app/routes/llm.$.ts`, and the build comes from `react-router build`; here it is written out.
import { createRequestHandler } from "@react-router/express";
import express from "express";
import type { ServerBuild } from "react-router";
import { announce, createService } from "./service.ts";

const service = createService({ basePath: "/llm" });
const loader = ({ request }: { request: Request }) => service.fetch(request);
const route = { loader, action: loader, default: undefined };

const build: ServerBuild = {
  routes: { "routes/llm.$": { id: "routes/llm.$", path: "llm/*", module: route } },
  entry: { module: { default: () => new Response(null) } },
  assets: { entry: { imports: [], module: "" }, routes: {}, url: "", version: "" },
  publicPath: "/",
  assetsBuildDirectory: "",
  future: {} as ServerBuild["future"],
  ssr: true,
  isSpaMode: false,
  prerender: [],
  routeDiscovery: { mode: "initial", manifestPath: "/__manifest" },
};
const app = express();
app.use(createRequestHandler({ build }));
const server = app.listen(0, "127.0.0.1", () => announce(server, "/llm"));
