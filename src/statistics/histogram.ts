// Counts of values by bucket, for percentiles. Their memory does not grow with the number of values.

/**
 * Number of values in each bucket. The last values are kept in a list, which takes the least memory for few of them. A
 * long list is counted in pages of buckets.
 */
export type Histogram = { last: number[]; pages: Map<number, Uint32Array | Uint16Array> };

export const emptyHistogram = (): Histogram => ({ last: [], pages: new Map() });

const pageBits = 8;
const maxLast = 4_096;

export function increase(histogram: Histogram, bucket: number): void {
  histogram.last.push(bucket);
  if (histogram.last.length === maxLast) countLast(histogram);
}

function countLast(histogram: Histogram): void {
  for (const bucket of histogram.last) pageOf(histogram, bucket >> pageBits)[bucket & (1 << pageBits) - 1]!++;
  histogram.last = [];
}

function pageOf({ pages }: Histogram, number: number): Uint32Array | Uint16Array {
  let page = pages.get(number);
  if (page === undefined) pages.set(number, page = new Uint32Array(1 << pageBits));
  return page;
}

export function addHistogram(histogram: Histogram, { last, pages }: Histogram): void {
  for (const bucket of last) increase(histogram, bucket);
  for (const [number, counts] of pages) {
    const own = pageOf(histogram, number);
    // Iterating takes twenty times as long.
    for (let index = 0; index < counts.length; index++) own[index]! += counts[index]!;
  }
}

/** Copies a histogram into less memory. It must have fewer than 2^16 values, and is only for reading. */
export function packed(histogram: Histogram): Histogram {
  if (histogram.pages.size === 0) return histogram;
  countLast(histogram);
  return {
    last: [],
    pages: new Map(Array.from(histogram.pages, ([page, counts]) => [page, Uint16Array.from(counts)])),
  };
}

/** Approximate memory in bytes. */
export const histogramBytes = ({ last, pages }: Histogram): number =>
  [...pages.values()].reduce((bytes, { byteLength }) => bytes + 100 + byteLength, 100 + 8 * last.length);

/** Calls `visit` with each bucket that has values, in order. */
export function eachCount(histogram: Histogram, visit: (bucket: number, count: number) => void): void {
  countLast(histogram);
  for (const [page, counts] of [...histogram.pages].sort(([a], [b]) => a - b)) {
    for (let index = 0; index < counts.length; index++) {
      if (counts[index]! > 0) visit((page << pageBits) + index, counts[index]!);
    }
  }
}

/** In ms. Statistics count a longer latency as this one, which keeps sums, means and variances finite. */
export const maxLatency = 1e12;

/** A latency for statistics, from any number: from 0 to `maxLatency`. */
export const boundLatency = (latency: number): number => latency > 0 ? Math.min(latency, maxLatency) : 0;

// Latencies below a second are rounded to a tenth of a millisecond, longer ones to four digits: 9,000 buckets per power
// of ten. The buckets are numbered from 0 and from 10,000 on.
const fine = 10_000, perPower = 9_000;

/** The bucket of any number. Takes a bounded number of steps, since bounding the latency bounds the loop. */
export function latencyBucket(latency: number): number {
  const bounded = boundLatency(latency);
  if (bounded < 1000) return Math.round(bounded * 10);
  let power = 3, unit = 1;
  for (; bounded >= 10_000 * unit; unit *= 10) power++;
  return fine + (power - 3) * perPower + Math.round(bounded / unit) - 1000;
}

/** The latency of a bucket, in ms. */
export function latencyOf(bucket: number): number {
  if (bucket < fine) return bucket / 10;
  const power = Math.floor((bucket - fine) / perPower);
  return (1000 + (bucket - fine) % perPower) * 10 ** power;
}

// Other numbers are rounded half up to four digits: a bucket encodes these and a power of ten. Zero has a separate
// bucket.
const zero = 0, offset = 100;
const toBucket = (digits: number, power: number): number =>
  digits === 10_000 ? toBucket(1000, power + 1) : (power + offset) * 10_000 + digits;

/**
 * The bucket of a whole number times 10^`exponent`. A `number` above 2^53 - 1 counts as that, and anything not at least
 * 1 as 0.
 */
export function digitsBucket(whole: number | bigint, exponent: number): number {
  if (!(whole >= 1)) return zero;
  if (typeof whole === "bigint") {
    const text = String(whole);
    if (text.length < 16) return digitsBucket(Number(whole), exponent);
    return toBucket(Number(text.slice(0, 4)) + Number(text[4]! >= "5"), exponent + text.length - 4);
  }
  const bounded = Math.min(whole, Number.MAX_SAFE_INTEGER);
  let digits = bounded, unit = 1, power = exponent;
  for (; digits < 1000; digits *= 10) power--;
  for (; bounded >= 10_000 * unit; unit *= 10) power++;
  return toBucket(Math.round(unit === 1 ? digits : bounded / unit), power);
}

/** The number of a bucket: `digits` × 10^`exponent`. */
export const digitsOf = (bucket: number): { digits: number; exponent: number } =>
  bucket === zero ? { digits: 0, exponent: 0 } : {
    digits: bucket % 10_000,
    exponent: Math.floor(bucket / 10_000) - offset,
  };

export function numberOf(bucket: number): number {
  const { digits, exponent } = digitsOf(bucket);
  return Number(`${digits}e${exponent}`);
}

/** Rank, from 1, of the smallest ordered value that at least a share of all do not exceed (nearest rank). */
const rankOf = (share: number, total: number): number => Math.max(1, Math.ceil(share * total));

/** The buckets at some shares of the ordered values, which rise. Undefined without values. */
export function percentiles(histogram: Histogram, shares: number[]): (number | undefined)[] {
  if (histogram.pages.size === 0) {
    // Sorting numbers is many times as fast as counting them.
    const sorted = new Uint32Array(histogram.last).sort();
    return shares.map((share) => sorted[rankOf(share, sorted.length) - 1]);
  }
  let total = 0, seen = 0;
  eachCount(histogram, (_, count) => total += count);
  const found: number[] = [];
  eachCount(histogram, (bucket, count) => {
    seen += count;
    while (found.length < shares.length && rankOf(shares[found.length]!, total) <= seen) found.push(bucket);
  });
  return found;
}
