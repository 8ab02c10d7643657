// A unified difference as HTML. Signs tell what was added and removed, and not the colour alone. In lines that take each
// other's place, the part that differs stands out.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { h } from "../html.ts";
import type { Html, Part } from "../html.ts";

const maxLines = 2_000;

export function Diff({ text, label }: { text: string; label: string }): Html {
  if (text === "") return <p class="none">Nothing differs.</p>;
  // The names of the two stand before the first hunk.
  const lines = text.slice(text.search(/^@@/m)).split("\n").filter((line) => line !== "" && !line.startsWith("\\"));
  const shown = lines.slice(0, maxLines);
  return (
    <div class="diff" role="region" aria-label={label} tabindex="0">
      {blocksOf(shown).map(blockView)}
      {lines.length > maxLines && <p class="hunk">{lines.length - maxLines} more lines are not shown</p>}
    </div>
  );
}

type Block = { sign: string; lines: string[] };

/** Lines with the same sign, which follow each other. */
function blocksOf(lines: readonly string[]): Block[] {
  const blocks: Block[] = [];
  for (const line of lines) {
    const sign = line.startsWith("@@") ? "@" : line[0]!, last = blocks.at(-1);
    if (last?.sign === sign) last.lines.push(line.slice(1));
    else blocks.push({ sign, lines: [line.slice(1)] });
  }
  return blocks;
}

function blockView({ sign, lines }: Block, index: number, blocks: readonly Block[]): Part {
  // Nothing is left out above the first line.
  if (sign === "@" && index === 0 && /^@ -[01][, ]/.test(lines[0]!)) return undefined;
  if (sign === "@") return <div class="hunk" aria-hidden="true">⋯</div>;
  if (sign !== "+" && sign !== "-") return lines.map((text) => lineView(" ", "", text));
  const other = sign === "-" ? blocks[index + 1] : blocks[index - 1];
  const isPaired = other?.sign === (sign === "-" ? "+" : "-") && other.lines.length === lines.length;
  return lines.map((text, at) => lineView(sign, isPaired ? other.lines[at]! : text, text, isPaired));
}

function lineView(sign: string, other: string, text: string, isPaired = false): Html {
  const line = [
    <span class="sign">{sign === "-" ? "−" : sign}</span>,
    isPaired ? markedAgainst(other, text) : text,
    "\n",
  ];
  if (sign === "+") return <ins>{line}</ins>;
  if (sign === "-") return <del>{line}</del>;
  return <span class="same">{line}</span>;
}

/** A text with the part marked in which it differs from another one. */
function markedAgainst(other: string, text: string): Part {
  const most = Math.min(other.length, text.length);
  let start = 0, end = 0;
  while (start < most && other[start] === text[start]) start++;
  while (end < most - start && other.at(-1 - end) === text.at(-1 - end)) end++;
  if (start + end < text.length / 4) return text;
  return [text.slice(0, start), <b>{text.slice(start, text.length - end)}</b>, text.slice(text.length - end)];
}
