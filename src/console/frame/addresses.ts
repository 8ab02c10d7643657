// Addresses: of pages, relative because a host may strip the path that it mounts the service under, of the service as a
// browser reaches it, and of assets, which include the hash of their content, so that browsers keep them for good.
import type { RequestContext } from "../../http/context.ts";
import { consolePath } from "../../http/face.ts";
import { statusOf } from "../../http/respond.ts";
import type { Answer } from "../../http/respond.ts";
import { assets } from "./assets.ts";

/**
 * The relative path of the console from the page of a request. `base` is the path of the console, as the service sees
 * it.
 */
export function rootOf({ request }: RequestContext, base: string): string {
  const below = new URL(request.url).pathname.slice(base.length);
  return below === "" ? "console/" : "../".repeat(below.split("/").length - 2) || "./";
}

/** The page of a request and its query, relative to the console. */
export const pageOf = ({ request }: RequestContext, base: string): string => {
  const { pathname, search } = new URL(request.url);
  return pathname.slice(base.length + 1) + search;
};

/** The relative path of the console from the root of the service. */
export const consoleFrom = (pathname: string): string =>
  `${/[^/]*$/.exec(pathname)![0]}${consolePath}`.replace(/^\//, "");

/** True if a request came over https, according to it or its proxy. */
export const isKnownSecure = ({ url, headers }: Request): boolean =>
  new URL(url).protocol === "https:" || firstOf(headers, "X-Forwarded-Proto") === "https";

/**
 * Public URL of the service, without a trailing slash, according to the request and its proxy. The script replaces it
 * with the browser's.
 */
export function serviceAddress(request: Request, basePath: string): string {
  const scheme = isKnownSecure(request) ? "https" : "http", own = new URL(request.url).host;
  const named = `${scheme}://${firstOf(request.headers, "X-Forwarded-Host") ?? own}`;
  const { origin } = new URL(URL.canParse(named) ? named : `${scheme}://${own}`);
  return (origin + basePath).replaceAll("'", "%27"); // examples for a shell have it in single quotes
}

/** Value of a header from the proxy nearest to the browser. */
const firstOf = (headers: Headers, name: string): string | undefined =>
  headers.get(name)?.split(",")[0]?.trim() || undefined;

type AssetName = keyof typeof assets;

/** The address of an asset below the console. */
export const assetPath = (name: AssetName): string => `a/${assets[name].hash}.${name.split(".")[1]}`;

const types: Record<string, string> = {
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
};

/** The asset at an address, or undefined. */
export function findAsset(file: string): Answer | undefined {
  const [name, asset] = Object.entries(assets).find(([name]) => assetPath(name as AssetName) === `a/${file}`) ?? [];
  if (name === undefined || asset === undefined) return undefined;
  return {
    status: statusOf.ok,
    headers: {
      "Content-Type": types[name.split(".")[1]!]!,
      "Cache-Control": "public, max-age=31536000, immutable",
      "Cross-Origin-Resource-Policy": "same-origin",
    },
    body: asset.text,
  };
}
