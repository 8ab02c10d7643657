// Amounts of USD for people. Programs get the exact decimal text.

const leastDecimals = 2, digits = 4;
const mostWritten = 1e15;

/**
 * An amount to the cent, and below ten dollars to four digits: `$1,204.50`, `$0.001235`. From 10^15 on: `$1.205e+15`.
 */
export function dollarText(amount: number): string {
  const size = Math.abs(amount), sign = amount < 0 ? "−" : "";
  if (size >= mostWritten) return `${sign}$${size.toExponential(digits - 1)}`;
  const decimals = size === 0 ? leastDecimals : digits - 1 - Math.floor(Math.log10(size));
  const text = size.toLocaleString("en", {
    minimumFractionDigits: leastDecimals,
    maximumFractionDigits: Math.min(Math.max(decimals, leastDecimals), 20),
  });
  return `${sign}$${text}`;
}

/** A price, which is decimal text, with all its digits: `$12.3456`. */
export function priceText(price: string): string {
  const [whole, fraction = ""] = price.split(".");
  return `$${Number(whole).toLocaleString("en")}.${fraction.padEnd(leastDecimals, "0")}`;
}
