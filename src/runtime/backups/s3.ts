// Signed requests to a bucket in S3, repeated after transient failures.
import { createHash } from "node:crypto";
import { AwsV4Signer } from "aws4fetch";
import type { BucketSettings } from "../settings/bucket-settings.ts";
import { conflict } from "../../common/errors.ts";
import { describeError } from "../../common/log.ts";
import { outgoingFetch } from "../proxy.ts";

/** A request. Its path follows the URL of the bucket. */
export type S3Request = {
  method: "GET" | "PUT" | "POST" | "DELETE";
  path: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: Uint8Array<ArrayBuffer>;
};

/** A refused request. `code` is that of S3. */
export type S3Error = Error & { status: number; code: string };

const maxAttempts = 6;
const maxTimeouts = 2; // of these attempts: a silent server would delay the failure
const maxMessage = 300; // characters
const maxText = 8 * 1024 * 1024; // bytes of a response: a page of a listing has 1,000 names of up to 1 kB

/** Explanations for failed requests by S3 code, without secrets. */
const advice: Record<string, string> = {
  RequestTimeTooSkewed: "The clock of this machine differs too much from that of the server. Set it right",
  InvalidAccessKeyId: "Check AWS_ACCESS_KEY_ID",
  SignatureDoesNotMatch: "Check AWS_SECRET_ACCESS_KEY",
  InvalidToken: "Check AWS_SESSION_TOKEN",
  ExpiredToken: "Renew AWS_SESSION_TOKEN",
  AuthorizationHeaderMalformed: "Check AWS_REGION",
  PermanentRedirect: "Check AWS_REGION and the endpoint",
  NoSuchBucket: "Create the bucket first",
  AccessDenied: "The key needs the permissions to list, read, write and delete",
};

/**
 * Maximum time of a request with its response, and of one that uploads, maximum time without data in a download, and
 * the first pause before a request is repeated, which doubles, all in ms.
 */
export type Patience = { request: number; upload: number; stall: number; pause: number };

// A part of 8 MiB takes the upload time at 47 kB/s.
const usual: Patience = { request: 60_000, upload: 180_000, stall: 60_000, pause: 250 };

/** `name` is the place's name in messages. */
export function openBucket(name: string, settings: BucketSettings, patience = usual) {
  const { bucketUrl, region, accessKeyId, secretAccessKey, sessionToken } = settings;
  const credentials = {
    ...{ service: "s3", region, accessKeyId, secretAccessKey },
    ...sessionToken === undefined ? {} : { sessionToken },
  };

  /** Sends a request once. Throws the server's error. */
  async function send({ method, path, query = {}, headers, body }: S3Request, ended?: AbortSignal): Promise<Response> {
    const url = new URL(`${bucketUrl}${path}`.replace(/\/$/, ""));
    url.search = new URLSearchParams(query).toString();
    const signer = new AwsV4Signer({
      ...{ ...credentials, method, url: url.href },
      headers: { ...headers, "X-Amz-Content-Sha256": createHash("sha256").update(body ?? "").digest("hex") },
    });
    const signed = await signer.sign();
    const response = await outgoingFetch(signed.url, {
      ...{
        method,
        headers: signed.headers,
        redirect: "manual",
        signal: ended ?? AbortSignal.timeout(body === undefined ? patience.request : patience.upload),
      },
      ...body === undefined ? {} : { body },
    });
    if (response.ok) return response;
    throw refusalOf(response.status, await readText(response).catch(() => ""));
  }

  const refusalOf = (status: number, text: string): S3Error => {
    const code = elementOf(text, "Code") ?? "";
    const said = elementOf(text, "Message") ?? "";
    const about = advice[code] ?? (code === "" && status >= 300 && status < 400 ? advice.PermanentRedirect! : "");
    const message = [plain(`${status} ${code}`), plain(said), about]
      .filter((part) => part !== "").join(". ").replace(/\.\./g, ".");
    return Object.assign(new Error(message), { status, code });
  };

  /** Runs work that sends requests, and repeats it after transient failures. */
  async function attempt<T>(what: string, work: (nth: number) => Promise<T>): Promise<T> {
    for (let nth = 1, timeouts = 0;; nth++) {
      try {
        return await work(nth);
      } catch (error) {
        if (isTimeout(error)) timeouts++;
        if (nth === maxAttempts || timeouts === maxTimeouts || !mayPass(error)) throw fail(what, error);
      }
      const pause = patience.pause * 2 ** (nth - 1) * (0.5 + Math.random() / 2);
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }

  const fail = (what: string, error: unknown): Error => {
    const cause = isRefused(error) ? error.message : isTimeout(error) ? "The server is silent" : describeError(error);
    return Object.assign(conflict(`${name} cannot be ${what}: ${cause}`), { cause: error });
  };

  return {
    patience,
    attempt,
    fail,
    send,
    /** Sends a request, and returns the body of its response, which must contain `element` if given. */
    request: (what: string, request: S3Request, element?: string): Promise<string> =>
      attempt(what, async () => {
        const text = await readText(await send(request));
        if (element === undefined || text.includes(`<${element}`)) return text;
        // S3 may begin a 200 before it fails.
        if (/<Error[\s>]/.test(text)) throw refusalOf(500, text);
        throw oddAnswer();
      }),
  };
}

/** Server text on one line, without characters that could control a terminal. */
const plain = (text: string): string => text.replace(/[\p{C}\p{Z}]+/gu, " ").trim().slice(0, maxMessage);

export type Bucket = ReturnType<typeof openBucket>;

/** For responses that are not from S3, but from a proxy or a portal. */
export const oddAnswer = () => new TypeError("The answer is none of S3. Check the endpoint");

export const isRefused = (error: unknown): error is S3Error =>
  error instanceof Error && "status" in error && "code" in error;

export const isTimeout = (error: unknown): boolean => error instanceof Error && error.name === "TimeoutError";

/** True if a request may succeed when repeated: the network or the server failed. A bucket that is full stays full. */
const mayPass = (error: unknown): boolean =>
  !isRefused(error) || error.code === "RequestTimeout" || [408, 429].includes(error.status) ||
  error.status >= 500 && ![501, 507].includes(error.status);

/** Reads the body of a response. An endless one would fill the memory of the service. */
export async function readText({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "", length = 0;
  for await (const chunk of body ?? []) {
    length += chunk.length;
    if (length > maxText) throw oddAnswer();
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** The text of the first element of that name. */
export function elementOf(xml: string, name: string): string | undefined {
  const [, text] = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml) ?? [];
  return text === undefined ? undefined : unescape(text);
}

/** The contents of all elements of that name. A pattern would take minutes for many unclosed ones. */
export const elementsOf = (xml: string, name: string): string[] =>
  xml.split(`<${name}>`).slice(1).map((rest) => rest.split(`</${name}>`, 1)[0]!);

const entities: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

const unescape = (text: string): string =>
  text.replace(/&(?:#x([\da-f]+)|#(\d+)|(\w+));/gi, (whole, hex?: string, decimal?: string, name?: string) => {
    const code = hex !== undefined ? parseInt(hex, 16) : decimal !== undefined ? Number(decimal) : undefined;
    if (code !== undefined) return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
    return entities[name!] ?? whole;
  });

export const escapeXml = (text: string): string => text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
