// Backups in a bucket. They are uploaded in parts, so a break costs one part, and a backup appears once all are there.
import type { BucketSettings } from "../settings/bucket-settings.ts";
import { conflict } from "../../common/errors.ts";
import { timeOf } from "./backup-names.ts";
import { listBackups, markName } from "./backup-place.ts";
import type { Place } from "./backup-place.ts";
import type { Content } from "./content.ts";
import { download } from "./s3-download.ts";
import { elementOf, elementsOf, escapeXml, isRefused, oddAnswer, openBucket, readText } from "./s3.ts";
import type { Patience } from "./s3.ts";

const partSize = 8 * 1024 * 1024; // bytes. All but the last are of the same size, as R2 requires
const maxParts = 10_000;
const maxPages = 1_000; // of a listing, with 1,000 names each
const mine = "promptledger-"; // prefix of each backup's name

type File = { name: string; bytes: number };

/** `name` is the place's name in messages. */
export function openBucketPlace(name: string, settings: BucketSettings, patience?: Patience): Place {
  const { prefix } = settings;
  const bucket = openBucket(name, settings, patience);
  const pathOf = (file: string) => prefix + file;

  /** The files whose names begin with `start`. */
  async function listFiles(start: string): Promise<File[]> {
    const files: File[] = [];
    let token: string | undefined;
    for (let page = 0; page < maxPages; page++) {
      const query = {
        ...{ "list-type": "2", prefix: pathOf(start) },
        ...token === undefined ? {} : { "continuation-token": token },
      };
      const xml = await bucket.request("listed", { method: "GET", path: "", query }, "ListBucketResult");
      for (const item of elementsOf(xml, "Contents")) {
        const key = elementOf(item, "Key") ?? "";
        if (key.startsWith(prefix)) {
          files.push({ name: key.slice(prefix.length), bytes: Number(elementOf(item, "Size")) });
        }
      }
      if (elementOf(xml, "IsTruncated") !== "true") return files;
      token = elementOf(xml, "NextContinuationToken");
      if (token === undefined) break;
    }
    throw bucket.fail("listed", oddAnswer());
  }

  /** Uploads the parts. Returns the request body that completes them, and their total size. */
  async function uploadParts(path: string, uploadId: string, content: Content) {
    const etags: string[] = [];
    let bytes = 0;
    for await (const body of inParts(content)) {
      if (etags.length === maxParts) throw conflict("The backup is larger than 80 GB, and cannot be uploaded in parts");
      const query = { partNumber: String(etags.length + 1), uploadId };
      const etag = await bucket.attempt("written", async () => {
        const response = await bucket.send({ method: "PUT", path, query, body });
        await readText(response);
        return response.headers.get("ETag") ?? throwOdd();
      });
      etags.push(etag);
      bytes += body.length;
    }
    const parts = etags.map((etag, index) =>
      `<Part><PartNumber>${index + 1}</PartNumber><ETag>${escapeXml(etag)}</ETag></Part>`
    );
    return { bytes, xml: `<CompleteMultipartUpload>${parts.join("")}</CompleteMultipartUpload>` };
  }

  async function abort(path: string, uploadId: string): Promise<void> {
    const request = { method: "DELETE", path, query: { uploadId } } as const;
    // A failure is reported by a later request, or has been reported already. The next backup aborts it again.
    await bucket.send(request).then(readText).catch(() => {});
  }

  async function remove(file: string): Promise<void> {
    const removing = bucket.request("changed", { method: "DELETE", path: pathOf(file) });
    await removing.catch((error: Error) => {
      if (!isRefused(error.cause) || error.cause.status !== 404) throw error;
    });
  }

  return {
    name,
    list: async () => listBackups(await listFiles(mine)),
    async tidy() {
      const query = { uploads: "", prefix: pathOf(mine) };
      let xml: string;
      try {
        xml = await bucket.request("listed", { method: "GET", path: "", query }, "ListMultipartUploadsResult");
      } catch (error) {
        // Some servers cannot list them, and some keys may not.
        if (isRefused((error as Error).cause)) return;
        throw error;
      }
      for (const item of elementsOf(xml, "Upload")) {
        const path = elementOf(item, "Key") ?? "", uploadId = elementOf(item, "UploadId") ?? "";
        if (path.startsWith(prefix) && timeOf(path.slice(prefix.length)) !== undefined) await abort(path, uploadId);
      }
    },
    async put(file, content) {
      const path = pathOf(file);
      const find = async () => (await listFiles(file)).find(({ name }) => name === file);
      if (await find() !== undefined) throw conflict(`${name} already has ${file}`);
      const begun = await bucket.request(
        "written",
        { method: "POST", path, query: { uploads: "" } },
        "InitiateMultipartUploadResult",
      );
      const uploadId = elementOf(begun, "UploadId");
      if (uploadId === undefined) throw bucket.fail("written", oddAnswer());
      try {
        const { bytes, xml } = await uploadParts(path, uploadId, content);
        const body = new TextEncoder().encode(xml);
        const completion = { method: "POST", path, query: { uploadId }, body } as const;
        const failure = await bucket.request("written", completion, "CompleteMultipartUploadResult")
          .then(() => undefined, (error: unknown) => error);
        // The response may be lost, and its repetition refused. The listing decides.
        const stored = await find();
        if (stored?.bytes === bytes) return bytes;
        if (stored !== undefined) await remove(file);
        throw failure ?? conflict(`${name} does not have all ${bytes} bytes of ${file} after the upload`);
      } catch (error) {
        await abort(path, uploadId);
        throw error;
      }
    },
    get: (file) => download(bucket, pathOf(file)),
    remove,
    async readMark() {
      const reading = bucket.request("read", { method: "GET", path: pathOf(markName) });
      const text = await reading.catch((error: Error) => {
        if (!isRefused(error.cause) || error.cause.status !== 404) throw error;
      });
      return text?.trim() || undefined;
    },
    async writeMark(owner) {
      const body = new TextEncoder().encode(`${owner}\n`);
      await bucket.request("written", { method: "PUT", path: pathOf(markName), body });
    },
  };
}

const throwOdd = (): never => {
  throw oddAnswer();
};

/** The content in parts of equal size, of which the last may be smaller. There is always at least one. */
async function* inParts(content: Content): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let part = new Uint8Array(partSize), length = 0, count = 0;
  for await (const chunk of content) {
    for (let at = 0; at < chunk.length;) {
      const piece = chunk.subarray(at, at + partSize - length);
      part.set(piece, length);
      length += piece.length;
      at += piece.length;
      if (length < partSize) continue;
      yield part;
      part = new Uint8Array(partSize);
      length = 0;
      count++;
    }
  }
  if (length > 0 || count === 0) yield part.subarray(0, length);
}
