// The URL of a proxy in settings and the environment.
import { invalid } from "../common/errors.ts";

/** Describes why a text is not the URL of a proxy, after the name of a setting. Undefined if it is one. */
export function proxyFault(text: string): string | undefined {
  if (!URL.canParse(withScheme(text))) return "must be the URL of a proxy, such as http://proxy.internal:3128";
  const { protocol, pathname, search } = new URL(withScheme(text));
  if (!["http:", "https:"].includes(protocol)) return "must be an http: or https: URL of a proxy";
  return pathname + search === "/" ? undefined : "must be the URL of a proxy, without a path";
}

/** Reads the URL of a proxy. Throws if invalid; `name` is its name in messages. */
export function readProxyUrl(name: string, text: string): URL {
  const fault = proxyFault(text);
  if (fault !== undefined) throw invalid(`${name} ${fault}`);
  return new URL(withScheme(text));
}

/** Adds a scheme, which many programs do not require. */
const withScheme = (text: string): string => text.includes("://") ? text : `http://${text}`;
