// Sign-in at an identity provider by OpenID Connect: code flow with PKCE, state and nonce, through `oauth4webapi`.
import {
  allowInsecureRequests,
  authorizationCodeGrantRequest,
  AuthorizationResponseError,
  calculatePKCECodeChallenge,
  ClientSecretBasic,
  ClientSecretPost,
  clockSkew,
  clockTolerance,
  customFetch,
  discoveryRequest,
  generateRandomCodeVerifier,
  generateRandomNonce,
  generateRandomState,
  getValidatedIdTokenClaims,
  JSON_ATTRIBUTE_COMPARISON,
  JWT_TIMESTAMP_CHECK,
  OperationProcessingError,
  processAuthorizationCodeResponse,
  processDiscoveryResponse,
  processUserInfoResponse,
  ResponseBodyError,
  UnsupportedOperationError,
  userInfoRequest,
  validateAuthResponse,
  WWWAuthenticateChallengeError,
} from "oauth4webapi";
import type { AuthorizationServer, Client } from "oauth4webapi";
import { providerAway, Refusal, signInRefused } from "../../common/errors.ts";
import { isSafeUrl } from "./people-settings.ts";
import type { ProviderSettings } from "./people-settings.ts";
import { addressOf, grantOf, hasAllClaims } from "../../support/roles.ts";
import type { RoleRule } from "../../support/roles.ts";
import type { Caller, Store } from "../../management/kernel/operation.ts";
import { toPerson } from "../../management/kernel/people.ts";
import { boundedFetch, boundExchanges, keep } from "./provider-answer.ts";
import { createVerify, skew } from "./provider-keys.ts";
import type { Verify } from "./provider-keys.ts";
import { because, describeFault } from "./sign-in-fault.ts";

/** A browser's state while its person is at the provider. It binds the answer to that browser. */
export type Attempt = { state: string; nonce: string; verifier: string };

export type SignedIn = { person: Caller; idToken: string };

/** Logs a fault of the provider that refuses no sign-in. `cause` has no secret. */
export type Warn = (message: string, cause: string) => void;

export type IdentityProvider = {
  /** URL of the provider's sign-in page, and the attempt to check its answer with. */
  begin(store: Store): Promise<{ url: string; attempt: Attempt }>;
  /**
   * Person who has signed in, by the query of the provider's answer to an attempt. Throws a refusal if it is not valid.
   */
  finish(store: Store, answer: URLSearchParams, attempt: Attempt, warn: Warn): Promise<SignedIn>;
  /** URL of the provider's sign-out page, if it has one. */
  findEnd(store: Store, idToken: string | undefined): Promise<string | undefined>;
};

/** Paths to which the provider sends people back, below the public URL. */
const paths = { callback: "/console/callback", end: "/console/sign-in" };

export function openProvider(
  { issuer, clientId, clientSecret, scope, publicUrl }: ProviderSettings,
  rules: readonly RoleRule[],
  send: typeof fetch,
): IdentityProvider {
  const issuerUrl = new URL(issuer), redirectUri = publicUrl + paths.callback;
  // The settings allow http only on this machine.
  const options = { [customFetch]: boundedFetch(send), [allowInsecureRequests]: issuerUrl.protocol === "http:" };
  const metadata = keep(async () => {
    try {
      return await processDiscoveryResponse(issuerUrl, await discoveryRequest(issuerUrl, options));
    } catch (error) {
      throw error instanceof Refusal
        ? error
        : because(providerAway(`${issuerUrl.host} has no discovery document of OIDC_ISSUER`), describeFault(error, []));
    }
  });
  const beginExchange = boundExchanges();
  let verify: { url: string; run: Verify } | undefined;

  function verifyFor(server: AuthorizationServer): Verify {
    const url = endpointOf(server, "jwks_uri");
    if (verify?.url !== url) verify = { url, run: createVerify(url, send) };
    return verify.run;
  }

  /** Claims about a person: those of the ID token, completed from the user information if some are missing. */
  async function readClaims(store: Store, answer: URLSearchParams, { state, nonce, verifier }: Attempt, warn: Warn) {
    const server = await metadata.get(store);
    const client: Client = {
      client_id: clientId,
      [clockSkew]: Math.round((store.clock() - Date.now()) / 1000),
      [clockTolerance]: skew,
    };
    const parameters = validateAuthResponse(server, client, answer, state);
    const response = await authorizationCodeGrantRequest(
      ...[server, client, authenticationOf(server), parameters, redirectUri, verifier, options] as const,
    );
    const expected = { expectedNonce: nonce, requireIdToken: true };
    const tokens = await processAuthorizationCodeResponse(server, client, response, expected);
    const idToken = tokens.id_token!, claims = getValidatedIdTokenClaims(tokens)!;
    // An impostor of the token endpoint has no signing key.
    await verifyFor(server)(idToken, { issuer: server.issuer, audience: clientId }, store);
    if (server.userinfo_endpoint === undefined || hasAllClaims(claims, rules)) return { idToken, claims };
    try {
      const information = await userInfoRequest(server, client, tokens.access_token, options);
      const more = await processUserInfoResponse(server, client, claims.sub, information);
      return { idToken, claims: { ...more, ...claims } };
    } catch (error) {
      // Another person's information is not a failure of the endpoint.
      const isEnough = grantOf(claims, rules) !== undefined && addressOf(claims) !== undefined;
      if (isOfAnother(error) || !isEnough) throw error;
      warn("The user information cannot be read; the ID token is enough", describeFault(error, [tokens.access_token]));
      return { idToken, claims };
    }
  }

  const isOfAnother = (error: unknown) =>
    error instanceof OperationProcessingError && error.code === JSON_ATTRIBUTE_COMPARISON;

  const authenticationOf = ({ token_endpoint_auth_methods_supported: methods }: AuthorizationServer) =>
    methods?.includes("client_secret_basic") === false
      ? ClientSecretPost(clientSecret)
      : ClientSecretBasic(clientSecret);

  return {
    async begin(store) {
      const server = await metadata.get(store);
      const attempt = {
        ...{ state: generateRandomState(), nonce: generateRandomNonce() },
        verifier: generateRandomCodeVerifier(),
      };
      const url = new URL(endpointOf(server, "authorization_endpoint"));
      const parameters = {
        ...{ response_type: "code", client_id: clientId, redirect_uri: redirectUri, scope },
        ...{ state: attempt.state, nonce: attempt.nonce },
        ...{ code_challenge: await calculatePKCECodeChallenge(attempt.verifier), code_challenge_method: "S256" },
      };
      for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
      return { url: url.href, attempt };
    },
    async finish(store, answer, attempt, warn) {
      if (answer.get("state") !== attempt.state) throw signInRefused("it began in another window");
      const endExchange = beginExchange(store.clock());
      const { idToken, claims } = await readClaims(store, answer, attempt, warn).finally(endExchange).catch((error) => {
        const { nonce, verifier } = attempt, code = answer.get("code") ?? "";
        throw refusalOf(error, [clientSecret, encodeURIComponent(clientSecret), code, nonce, verifier]);
      });
      return { person: await toPerson(store, claims, rules), idToken };
    },
    async findEnd(store, idToken) {
      const { end_session_endpoint: end } = await metadata.get(store);
      if (end === undefined || !isSafeUrl(end)) return undefined;
      const url = new URL(end);
      url.searchParams.set("client_id", clientId);
      url.searchParams.set("post_logout_redirect_uri", publicUrl + paths.end);
      if (idToken !== undefined) url.searchParams.set("id_token_hint", idToken);
      return url.href;
    },
  };
}

function endpointOf(server: AuthorizationServer, name: "jwks_uri" | "authorization_endpoint"): string {
  const url = server[name];
  if (url === undefined || !isSafeUrl(url)) throw providerAway(`its discovery document has no ${name} with https:`);
  return url;
}

/** Refusal with the fault in words for people. Of the provider's text it has at most a short error code. */
function refusalOf(error: unknown, secrets: readonly string[]): unknown {
  if (error instanceof Refusal) return error;
  if (error instanceof AuthorizationResponseError || error instanceof ResponseBodyError) {
    const code = /^\w{1,40}$/.test(error.error) ? error.error : "an error";
    return because(signInRefused(`the identity provider answered with ${code}`), describeFault(error, secrets));
  }
  // TypeError: a value that no request can have, such as an access token with a line break.
  const isKnown = [OperationProcessingError, UnsupportedOperationError, WWWAuthenticateChallengeError, TypeError]
    .some((known) => error instanceof known);
  if (!isKnown) return error;
  const fault = error instanceof OperationProcessingError && error.code === JWT_TIMESTAMP_CHECK
    ? "it has expired, or the clocks differ by more than a minute"
    : "the identity provider's answer is not valid";
  return because(signInRefused(fault), describeFault(error, secrets));
}
