// Guesses which word was meant.

/** ` Did you mean deploy?` for the known word that a word was probably meant to be; empty without one. */
export function guess(word: string, known: string[], prefix = ""): string {
  const near = known.find((each) => word !== "" && (each.startsWith(word) || word.startsWith(each))) ??
    known.find((each) => distanceOf(word, each) <= Math.min(2, word.length / 2));
  return near === undefined ? "" : ` Did you mean ${prefix}${near}?`;
}

/** How many characters must be added, removed or replaced to make one word of another. */
function distanceOf(from: string, to: string): number {
  let row = [...to, ""].map((_, index) => index);
  for (const [at, character] of [...from].entries()) {
    const next = [at + 1];
    for (const [index, other] of [...to].entries()) {
      next.push(Math.min(row[index]! + (character === other ? 0 : 1), row[index + 1]! + 1, next[index]! + 1));
    }
    row = next;
  }
  return row.at(-1)!;
}
