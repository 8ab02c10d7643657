// Settings of sign-in with a company's accounts: by a header that a proxy signs, or at an identity provider.
import { readRoleRules } from "../../support/roles.ts";
import type { RoleRule } from "../../support/roles.ts";

/** Tokens that a proxy signs, in a header of each request. */
export type HeaderSettings = Readonly<{
  /** Name of the header, in lower case. */
  name: string;
  /** URL of the keys that sign tokens: a JSON Web Key Set. */
  keysUrl: string;
  /** Required `iss` and `aud` of a token. `aud` may contain others too. */
  issuer: string;
  audience: string;
  /** True if the management API accepts such tokens too. */
  isForApi: boolean;
}>;

/** The identity provider at which people sign in, by OpenID Connect. */
export type ProviderSettings = Readonly<{
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** Scopes requested from the provider, separated by spaces. */
  scope: string;
  /** URL of this service for browsers, without a slash at its end. */
  publicUrl: string;
}>;

/** Methods of sign-in, and the rules for roles. */
export type PeopleSettings = Readonly<{
  rules: readonly RoleRule[];
  header: HeaderSettings | undefined;
  provider: ProviderSettings | undefined;
}>;

/** True if a text has the form of a signed token, a JSON Web Token. */
export const isSignedToken = (text: string): boolean => /^[\w-]+\.[\w-]+\.[\w-]*$/.test(text);

type Read = (name: string) => string | undefined;

/** Reads the settings, and adds their faults to `faults`. Undefined if none of them is set. */
export function readPeopleSettings(read: Read, faults: string[]): PeopleSettings | undefined {
  const header = readHeader(read, faults), provider = readProvider(read, faults);
  const isOn = header !== undefined || provider !== undefined;
  const text = read("AUTH_ROLES");
  const { rules, faults: wrong } = readRoleRules(text ?? "");
  if (text !== undefined) faults.push(...wrong.map((fault) => `AUTH_ROLES ${fault}`));
  if (text === undefined && isOn) faults.push("AUTH_ROLES must be set too: without it, no person has a role");
  if (text !== undefined && !isOn) faults.push("AUTH_ROLES needs AUTH_JWT_HEADER or OIDC_ISSUER, where people sign in");
  return isOn ? { rules, header, provider } : undefined;
}

const ofHeader = ["AUTH_JWT_HEADER", "AUTH_JWKS_URL", "AUTH_ISSUER", "AUTH_AUDIENCE"] as const;

function readHeader(read: Read, faults: string[]): HeaderSettings | undefined {
  const isForApi = read("AUTH_API") ?? "false";
  if (!["true", "false"].includes(isForApi)) faults.push("AUTH_API must be one of true, false");
  const values = readTogether(ofHeader, read, faults);
  if (values === undefined) {
    if (isForApi === "true") {
      faults.push("AUTH_API needs AUTH_JWT_HEADER, whose tokens it lets into the management API");
    }
    return undefined;
  }
  const { AUTH_JWT_HEADER: name, AUTH_JWKS_URL: keysUrl, AUTH_ISSUER: issuer, AUTH_AUDIENCE: audience } = values;
  if (name !== "" && (!/^[A-Za-z0-9-]{1,100}$/.test(name) || /^(cookie|host|origin)$/i.test(name))) {
    faults.push("AUTH_JWT_HEADER must be the name of a header, such as Authorization or Cf-Access-Jwt-Assertion");
  }
  if (keysUrl !== "" && !isSafeUrl(keysUrl)) faults.push(`AUTH_JWKS_URL ${safeUrlExpected}`);
  return { name: name.toLowerCase(), keysUrl, issuer, audience, isForApi: isForApi === "true" };
}

const ofProvider = ["OIDC_ISSUER", "OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET", "PUBLIC_URL"] as const;

function readProvider(read: Read, faults: string[]): ProviderSettings | undefined {
  const scope = read("OIDC_SCOPE");
  if (scope !== undefined && !` ${scope} `.includes(" openid ")) faults.push("OIDC_SCOPE must have openid");
  const values = readTogether(ofProvider, read, faults);
  if (values === undefined) {
    if (scope !== undefined) faults.push("OIDC_SCOPE needs OIDC_ISSUER");
    return undefined;
  }
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret, PUBLIC_URL: publicUrl } =
    values;
  if (issuer !== "" && (!isSafeUrl(issuer) || /[?#]/.test(issuer))) {
    faults.push(`OIDC_ISSUER ${safeUrlExpected}, a query or a fragment`);
  }
  if (publicUrl !== "" && (!isSafeUrl(publicUrl) || /^[^:]*[A-Z]|[?#]|\/$/.test(publicUrl))) {
    faults.push(`PUBLIC_URL ${safeUrlExpected}, a query, or a slash at its end`);
  }
  if (clientSecret !== "" && clientSecret.length < 16) {
    faults.push("OIDC_CLIENT_SECRET must have at least 16 characters, as it seals sessions too");
  }
  return { issuer, clientId, clientSecret, scope: scope ?? "openid email profile", publicUrl };
}

/** Reads settings of which all or none must be set. Undefined if none is. A missing one is a fault, and empty. */
function readTogether<Name extends string>(
  names: readonly Name[],
  read: Read,
  faults: string[],
): Record<Name, string> | undefined {
  const missing = names.filter((name) => read(name) === undefined);
  if (missing.length === names.length) return undefined;
  const all = `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
  faults.push(...missing.map((name) => `${name} must be set too: ${all} belong together`));
  return Object.fromEntries(names.map((name) => [name, read(name) ?? ""])) as Record<Name, string>;
}

const safeUrlExpected = "must be an https: URL, or an http: URL of this machine, without a user name";

/** True if a URL has no user name, and its responses cannot be changed in transit. */
export function isSafeUrl(text: string): boolean {
  if (!/^https?:\/\/[^/]/i.test(text) || !URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  const isHere = ["localhost", "127.0.0.1", "[::1]"].includes(hostname);
  return username === "" && password === "" && (protocol === "https:" || isHere);
}
