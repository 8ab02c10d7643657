// Exact decimal numbers: amounts of money as whole multiples of 10^-30 USD, and their texts. No sum or product is
// rounded.

/** An amount in units of 10^-30 USD. */
export type Amount = bigint;

/** Decimals of an amount. The cost of one token has up to 15, and a JavaScript number up to some 30. */
export const amountDecimals = 30;

const parts = /^(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,2}))?$/;

/** Parses a decimal text, such as `0.15` or `1.5e-7`. Undefined if malformed or with more decimals than an amount. */
export function readAmount(text: string): Amount | undefined {
  const [, whole, fraction = "", exponent = "0"] = parts.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const shift = amountDecimals - fraction.length + Number(exponent);
  const digits = BigInt(whole + fraction);
  if (shift >= 0) return digits * 10n ** BigInt(shift);
  const unit = 10n ** BigInt(-shift);
  return digits % unit === 0n ? digits / unit : undefined;
}

/** The shortest text of `digits` × 10^`exponent`: `0.15`. */
export function decimalText(digits: bigint, exponent = -amountDecimals): string {
  if (digits < 0n) return `-${decimalText(-digits, exponent)}`;
  if (exponent >= 0) return String(digits * 10n ** BigInt(exponent));
  const text = String(digits).padStart(1 - exponent, "0");
  const fraction = text.slice(exponent).replace(/0+$/, "");
  return text.slice(0, exponent) + (fraction === "" ? "" : `.${fraction}`);
}

/** Divides an amount by a count, and rounds half up to `decimals`. */
export function divideAmount(amount: Amount, count: number, decimals: number): Amount {
  const unit = 10n ** BigInt(amountDecimals - decimals);
  const divisor = BigInt(count) * unit;
  return (2n * amount + divisor) / (2n * divisor) * unit;
}

/** A sum of counts, which is exact however large it becomes. */
export type ExactSum = { small: number; large: bigint };

export const emptySum = (): ExactSum => ({ small: 0, large: 0n });

/** Largest number that can be added to a sum below it without rounding. */
export const maxAddend = 2 ** 52;

/** Adds an integer from 0 to 2^53 - 1. */
export function addTo(sum: ExactSum, addend: number): void {
  if (addend > maxAddend) {
    sum.large += BigInt(addend);
    return;
  }
  sum.small += addend;
  if (sum.small < maxAddend) return;
  sum.large += BigInt(sum.small);
  sum.small = 0;
}

export const totalOf = ({ small, large }: ExactSum): bigint => large + BigInt(small);
