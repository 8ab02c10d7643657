// Settings of a place in S3, or in a compatible service.

/** A bucket, and the credentials for its requests. */
export type BucketSettings = Readonly<{
  /** URL that object names are appended to, with the prefix and a slash at its end. */
  url: string;
  /** URL of the bucket itself, with a slash at its end. */
  bucketUrl: string;
  /** Prefix of object names: empty, or with a slash at its end. */
  prefix: string;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken: string | undefined;
}>;

const pattern = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/((?:[\w.-]+\/)*[\w.-]+)?\/?)?$/;
const loopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** True if a place is a bucket. */
export const isBucket = (place: string): boolean => /^s3:/i.test(place);

/**
 * Reads the settings of a bucket by the names that all tools for S3 use, and adds their faults to `faults`. `name` is
 * the name of the place in messages.
 */
export function readBucketSettings(
  name: string,
  place: string,
  read: (name: string) => string | undefined,
  faults: string[],
): BucketSettings {
  const [, bucket = "", path = ""] = pattern.exec(place) ?? [];
  if (bucket === "") {
    faults.push(`${name} must be s3://bucket or s3://bucket/prefix, with letters, digits, ., _, - and / in the prefix`);
  }
  const secret = (name: string): string => {
    const value = read(name) ?? "";
    if (!/^[!-~]+$/.test(value)) {
      faults.push(value === "" ? `${name} must be set for a place in S3` : `${name} must be ASCII without spaces`);
    }
    return value;
  };
  const accessKeyId = secret("AWS_ACCESS_KEY_ID"), secretAccessKey = secret("AWS_SECRET_ACCESS_KEY");
  const sessionToken = read("AWS_SESSION_TOKEN") === undefined ? undefined : secret("AWS_SESSION_TOKEN");
  const region = read("AWS_REGION") ?? read("AWS_DEFAULT_REGION") ?? "us-east-1";
  if (!/^[a-z0-9-]+$/.test(region)) faults.push("AWS_REGION must be a region such as eu-central-1");
  const endpointName = read("AWS_ENDPOINT_URL_S3") === undefined ? "AWS_ENDPOINT_URL" : "AWS_ENDPOINT_URL_S3";
  const endpoint = read(endpointName);
  const fault = endpoint === undefined ? undefined : endpointFault(endpoint, read("BACKUP_KEY_FILE") !== undefined);
  if (fault !== undefined) faults.push(`${endpointName} ${fault}`);
  // The certificate of AWS does not cover bucket names with a dot.
  const bucketUrl = endpoint === undefined && !bucket.includes(".")
    ? `https://${bucket}.s3.${region}.amazonaws.com/`
    : `${endpoint?.replace(/\/+$/, "") ?? `https://s3.${region}.amazonaws.com`}/${bucket}/`;
  const prefix = path === "" ? "" : `${path}/`;
  return Object.freeze({
    ...{ url: bucketUrl + prefix, bucketUrl, prefix, region },
    ...{ accessKeyId, secretAccessKey, sessionToken },
  });
}

/** Describes a fault of an endpoint. Requests are signed, but an unencrypted backup could be read in transit. */
function endpointFault(endpoint: string, areEncrypted: boolean): string | undefined {
  if (!URL.canParse(endpoint) || !/^https?:\/\/[^/]/i.test(endpoint)) return "must be an http: or https: URL";
  const { protocol, hostname, username, password, search, hash } = new URL(endpoint);
  if (username + password + search + hash !== "") return "must not contain a user name, a query or a fragment";
  return protocol === "https:" || loopback.test(hostname) || areEncrypted
    ? undefined
    : "must be an https: URL, as http: needs BACKUP_KEY_FILE, but for a server on this machine";
}
