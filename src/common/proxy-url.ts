// The URL of a proxy, as settings and the environment have it.
import { invalid } from "./errors.ts";

/** Describes why a text is not the URL of a proxy, after the name of a setting. Undefined if it is one. */
export function proxyFault(text: string): string | undefined {
  if (!URL.canParse(withScheme(text))) return "must be the URL of a proxy, such as http://proxy.internal:3128";
  const { protocol, pathname, search } = new URL(withScheme(text));
  if (!["http:", "https:"].includes(protocol)) return "must be an http: or https: URL of a proxy";
  return pathname + search === "/" ? undefined : "must be the URL of a proxy, without a path";
}

/** Reads the URL of a proxy. Throws if it is none; `name` is what messages call it. */
export function readProxyUrl(name: string, text: string): URL {
  const fault = proxyFault(text);
  if (fault !== undefined) throw invalid(`${name} ${fault}`);
  return new URL(withScheme(text));
}

/** Many programs take the host and the port alone. */
const withScheme = (text: string): string => text.includes("://") ? text : `http://${text}`;
