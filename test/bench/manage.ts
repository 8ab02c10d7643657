// Requests to the management API of a service under test.
import { adminToken } from "../helpers.ts";

/** Sends a request for a path below `/admin/v1`. */
export const send = (url: string, path: string, method = "GET", body?: unknown): Promise<Response> =>
  fetch(`${url}/admin/v1${path}`, {
    method,
    headers: { Authorization: `Bearer ${adminToken}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

/** The same, and reads the answer. Throws if it is a refusal. */
export async function ask(url: string, path: string, method = "GET", body?: unknown) {
  const response = await send(url, path, method, body);
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return JSON.parse(text);
}
