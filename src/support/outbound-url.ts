// Checks the text of a URL against the outbound policy. Where host names can be resolved, `runtime/serving/outbound.ts` checks
// the addresses.

export const maxUrlLength = 2000; // characters

/** Reason why nothing may be sent to a URL; undefined if its names permit it. The text continues "The URL …". */
export function urlFault(text: string, allowed: readonly string[]): string | undefined {
  if (text.length > maxUrlLength) return `must have at most ${maxUrlLength} characters`;
  if (!URL.canParse(text)) return "must be a URL such as https://example.com/hooks";
  const url = new URL(text);
  // It is stored as it is sent: encoded, where a character takes up to nine.
  if (url.href.length > maxUrlLength) return `must have at most ${maxUrlLength} characters once it is encoded`;
  if (url.username !== "" || url.password !== "") return "must not have a user name or a password";
  const isAllowed = isNamed(url, allowed);
  if (url.protocol !== "https:" && !(url.protocol === "http:" && isAllowed)) {
    return "must begin with https://, or with http:// if WEBHOOK_ALLOW names its host";
  }
  const host = hostOf(url);
  return !isAllowed && !isAddress.test(host) && insideName.test(host) ? notPublic(host) : undefined;
}

export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");

/** True if the settings name the host of a URL, as in `hooks.internal` or `10.0.0.7:8080`. */
export const isNamed = (url: URL, allowed: readonly string[]): boolean =>
  allowed.includes(url.host) || allowed.includes(hostOf(url));

export const notPublic = (address: string): string =>
  `leads to ${address}, which is no public address. To allow it, name the host of the URL in WEBHOOK_ALLOW`;

const isAddress = /^[\d.]+$|:/;
const insideName =
  /^[^.]+$|(^|\.)(localhost|local|internal|intranet|lan|home|corp|home\.arpa|onion|test|invalid|example)$/;
