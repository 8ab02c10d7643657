// Assertions about whole answers: status, body, and each of our headers, present or absent. So an answer that passes on every
// runtime and over every transport is identical on all of them.
import * as assert from "uvu/assert";
import { endOfMonth, monthOf } from "../../src/common/month.ts";
import type { HttpAnswer } from "./http-client.ts";

const ourHeaders = [
  ...["content-type", "www-authenticate", "allow", "retry-after", "cache-control", "x-content-type-options"],
  ...["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-used", "x-ratelimit-reset"],
];

const json = {
  "content-type": "application/json",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
};

export const limit = 100_000; // of the tenant that the cases share

/** Compares a whole answer. A header that is not named must be absent. */
export function isAnswer(
  answer: HttpAnswer,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  const ours = Object.fromEntries(
    ourHeaders.filter((name) => answer.headers.has(name)).map((name) => [name, answer.headers.get(name)]),
  );
  assert.equal([answer.status, JSON.parse(answer.text), ours], [status, body, { ...json, ...headers }]);
  assert.match(answer.headers.get("x-request-id") ?? "none", /^req_[0-9a-f-]{36}$/);
}

export const isRefusal = (answer: HttpAnswer, status: number, error: string, headers: Record<string, string> = {}) =>
  isAnswer(answer, status, { error }, status === 401 ? { "www-authenticate": "Bearer", ...headers } : headers);

export const isNotFound = (answer: HttpAnswer) => isRefusal(answer, 404, "Deploy not found or not accessible");

export const usedOf = ({ headers }: HttpAnswer) => Number(headers.get("x-ratelimit-used"));

/** The quota headers if this much of the limit is used. The month may turn while a case runs. */
export function quotaHeaders(answer: HttpAnswer, limit: number, used: number): Record<string, string> {
  const reset = Number(answer.headers.get("x-ratelimit-reset")) * 1000;
  assert.ok([endOfMonth(monthOf(Date.now())), endOfMonth(monthOf(Date.now() - 60_000))].includes(reset));
  return {
    "x-ratelimit-limit": String(limit),
    "x-ratelimit-remaining": String(Math.max(0, limit - used)),
    "x-ratelimit-used": String(used),
    "x-ratelimit-reset": String(reset / 1000),
  };
}

/** Checks a 200 or 201. Any quota may be used, unless that is given. */
export function isAccepted(
  answer: HttpAnswer,
  status: 200 | 201,
  body: unknown,
  used = usedOf(answer),
  of = limit,
): void {
  const headers = status === 200 ? { "cache-control": "private, no-cache" } : {};
  isAnswer(answer, status, body, { ...quotaHeaders(answer, of, used), ...headers });
}

/** Checks a 201, and returns the id of the record. */
export function isRecorded(answer: HttpAnswer, used = usedOf(answer), of = limit): string {
  const { id } = JSON.parse(answer.text);
  assert.match(String(id), /^diag_[0-9a-z]{26}$/, answer.text);
  isAccepted(answer, 201, { id, status: "success", message: "Diagnosis data recorded successfully" }, used, of);
  return id;
}

/** Checks a 429 of a workspace that has used this much of its limit. */
export function isExhausted(answer: HttpAnswer, limit: number, used: number, upgradeUrl: string | null = null): void {
  const resetTime = Number(answer.headers.get("x-ratelimit-reset"));
  const wait = Number(answer.headers.get("retry-after"));
  assert.ok(wait >= 1 && Math.abs(wait - (resetTime - Date.now() / 1000)) < 60);
  const body = { error: "Rate limit exceeded", details: { limit, used, resetTime, upgradeUrl } };
  isAnswer(answer, 429, body, { ...quotaHeaders(answer, limit, used), "retry-after": String(wait) });
}
