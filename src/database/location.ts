// Location of a database: the URL of a file or of a server.

/** The URL of the database, `file:`, `http(s):` or `libsql:`, and the token for a remote one. */
export type DatabaseLocation = Readonly<{ url: string; authToken?: string | undefined }>;

/** True if a database is a file on this machine. */
export const isFileUrl = (url: string): boolean => /^file:/i.test(url);

/** The path in a `file:` URL, which may be relative. A host other than this one stays part of it. */
export function filePathOf(url: string): string {
  const [, path = url] = /^file:(?:\/\/(?:localhost)?(?=\/))?([^?#]*)/i.exec(url) ?? [];
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** A database URL without the parts that may be secret: user, password and query. */
export const describeDatabase = (url: string): string => url.replace(/\?.*$/s, "").replace(/\/\/[^/]*@/, "//");

/** Describes why a database URL is invalid. */
export function databaseUrlFault(url: string): string | undefined {
  if (isFileUrl(url)) {
    // SQLite deletes the database of an empty path when it closes. A database in memory is lost too.
    const path = filePathOf(url);
    const isFile = /[^/]/.test(path) && !path.startsWith("//") && !/:memory:|\0/i.test(path);
    return isFile ? undefined : "must name a file after file:";
  }
  if (!/^(https?|libsql):\/\/[^/]/i.test(url) || !URL.canParse(url)) {
    return "must be a file:, http:, https: or libsql: URL";
  }
  return new URL(url).username === ""
    ? undefined
    : "must not contain a user name: authenticate with DATABASE_AUTH_TOKEN";
}
