// JSON as its tokens: what was sent and what came back are the same, but for the space between tokens. It knows nothing of how
// the service keeps JSON.

const token = /"(?:[^"\\]|\\.)*"|[^\s",:[\]{}]+|[,:[\]{}]/g;

export const tokensOf = (text: string): string[] => text.match(token) ?? [];

/** The members of an object at its top level, by their names; of a repeated one the last. */
export function membersOf(text: string): Map<string, string[]> {
  const members = new Map<string, string[]>();
  let depth = 0;
  let name: string | undefined, value: string[] = [];
  for (const each of tokensOf(text)) {
    if (/^[}\]]/.test(each)) depth--;
    if (depth === 0 || depth === 1 && each === ",") {
      if (name !== undefined) members.set(name, value);
      [name, value] = [undefined, []];
    } else if (depth === 1 && name === undefined) name = JSON.parse(each).toWellFormed();
    else if (depth > 1 || each !== ":") value.push(each);
    if (/^[{[]/.test(each)) depth++;
  }
  return members;
}

/** How deep arrays and objects stand in each other. */
export function depthOf(text: string): number {
  let depth = 0, deepest = 0;
  for (const each of tokensOf(text)) {
    if (/^[{[]/.test(each)) deepest = Math.max(deepest, ++depth);
    else if (/^[}\]]/.test(each)) depth--;
  }
  return deepest;
}

/** Whether tokens have come back as they were sent: digit by digit, but lone surrogates as U+FFFD. */
export const isSame = (sent: string[], back: string[]): boolean =>
  sent.length === back.length && sent.every((token, index) => token === back[index] || isMended(token, back[index]!));

const isMended = (sent: string, back: string): boolean => {
  if (!sent.startsWith('"') || !back.startsWith('"')) return false;
  const text: string = JSON.parse(sent);
  return !text.isWellFormed() && text.toWellFormed() === JSON.parse(back);
};

/** The value of a JSON number: the same text for every way to write it, however many digits it has. */
export function decimalOf(number: string): string {
  const [, minus, whole, fraction = "", exponent = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(number)!;
  const digits = `${whole}${fraction}`.replace(/^0+/, "");
  const significant = digits.replace(/0+$/, "");
  const power = BigInt(exponent) + BigInt(digits.length - significant.length - fraction.length);
  return significant === "" ? "0" : `${minus}${significant}e${power}`;
}
