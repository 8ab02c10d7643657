// Distinguishes requests from pages of this service from those of other sites.

/**
 * True if a page of this service sent a request, false if another site's did. Undefined if unknown: a person typed the
 * address, or a program sent it. Browsers send `Sec-Fetch-Site` to https and to this machine. Over plain http there is
 * only `Origin`.
 */
export function isOwnSite({ headers, url }: Request): boolean | undefined {
  const site = headers.get("Sec-Fetch-Site"), origin = headers.get("Origin");
  if (site !== null) return site === "none" ? undefined : site === "same-origin";
  if (origin === null) return undefined;
  const hosts = [new URL(url).host, headers.get("X-Forwarded-Host")];
  return URL.canParse(origin) && hosts.includes(new URL(origin).host);
}
