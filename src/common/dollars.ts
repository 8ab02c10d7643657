// Amounts of USD for people. Programs get the exact decimal text.

const leastDecimals = 2, digits = 4;

/** An amount to the cent, and below ten dollars to four digits: `$1,204.50`, `$0.001235`. */
export function dollarText(amount: number): string {
  const size = Math.abs(amount);
  const decimals = size === 0 ? leastDecimals : digits - 1 - Math.floor(Math.log10(size));
  const text = size.toLocaleString("en", {
    minimumFractionDigits: leastDecimals,
    maximumFractionDigits: Math.min(Math.max(decimals, leastDecimals), 20),
  });
  return `${amount < 0 ? "−" : ""}$${text}`;
}

/** A price, which is decimal text, with all its digits: `$12.3456`. */
export function priceText(price: string): string {
  const [whole, fraction = ""] = price.split(".");
  return `$${Number(whole).toLocaleString("en")}.${fraction.padEnd(leastDecimals, "0")}`;
}
