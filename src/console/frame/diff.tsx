// A unified difference as HTML. Signs mark additions and removals, not colour alone. In replaced lines, the words that
// differ are marked.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import type { PromptId } from "../../common/ids.ts";
import { diffWords } from "../../management/prompts/prompt-text.ts";
import type { Piece } from "../../management/prompts/prompt-text.ts";
import { diffVersions } from "../../management/prompts/renderings.ts";
import { getPromptVersion } from "../../management/prompts/versions.ts";
import type { PromptVersion } from "../../management/prompts/versions.ts";
import { Fragment, h } from "./html.ts";
import type { Html, Part } from "./html.ts";
import type { ConsoleRequest } from "./page.ts";
import { VariablesNotice } from "./content.tsx";

const maxLines = 2_000;
const maxCompared = 50_000; // characters in which words are compared

export function Diff({ text, label }: { text: string; label: string }): Html {
  if (text === "") return <p class="none">Nothing differs.</p>;
  // The names of both precede the first hunk.
  const lines = text.slice(text.search(/^@@/m)).split("\n").filter((line) => line !== "" && !line.startsWith("\\"));
  const blocks = blocksOf(lines.slice(0, maxLines));
  markWords(blocks);
  return (
    <div class="diff" role="region" aria-label={label} tabindex="0">
      {blocks.map(blockView)}
      {lines.length > maxLines && <p class="hunk">{lines.length - maxLines} more lines are not shown</p>}
    </div>
  );
}

/** Lines with the same sign, which follow each other. `marked` has the lines with the words that differ. */
type Block = { sign: string; lines: string[]; marked?: Part[] };

function blocksOf(lines: readonly string[]): Block[] {
  const blocks: Block[] = [];
  for (const line of lines) {
    const sign = line.startsWith("@@") ? "@" : line[0]!, last = blocks.at(-1);
    if (last?.sign === sign) last.lines.push(line.slice(1));
    else blocks.push({ sign, lines: [line.slice(1)] });
  }
  return blocks;
}

/** Marks the words that differ where one block takes the place of another. */
function markWords(blocks: readonly Block[]): void {
  let room = maxCompared;
  for (const [nth, block] of blocks.entries()) {
    const next = blocks[nth + 1];
    if (block.sign !== "-" || next?.sign !== "+") continue;
    const before = block.lines.join("\n"), after = next.lines.join("\n");
    room -= before.length + after.length;
    const pieces = room < 0 ? undefined : diffWords(before, after);
    if (pieces === undefined || !isAlike(pieces, Math.min(before.length, after.length))) continue;
    block.marked = markedLines(pieces, "before");
    next.marked = markedLines(pieces, "after");
  }
}

/** True if two texts share enough words that one was made of the other. */
function isAlike(pieces: readonly Piece[], least: number): boolean {
  const words = pieces.map(({ text, of }) => of === "both" ? text.replace(/[^\p{L}\p{N}]/gu, "") : "");
  return words.join("").length >= least / 4;
}

/**
 * The lines of one of two texts, marking the words that the other one does not have. An entirely new line has no marks.
 */
function markedLines(pieces: readonly Piece[], side: "before" | "after"): Part[] {
  const own = pieces.filter(({ of }) => of === side || of === "both");
  const isOwn = (nth: number) => own[nth]?.of === side;
  const lines: { text: string; isMarked: boolean }[][] = [[]];
  for (const [nth, piece] of own.entries()) {
    // Marks do not end at a space between two words that differ.
    const isMarked = isOwn(nth) || /^[^\S\n]+$/.test(piece.text) && isOwn(nth - 1) && isOwn(nth + 1);
    for (const [at, text] of piece.text.split("\n").entries()) {
      if (at > 0) lines.push([]);
      const line = lines.at(-1)!, last = line.at(-1);
      if (last?.isMarked === isMarked) last.text += text;
      else if (text !== "") line.push({ text, isMarked });
    }
  }
  return lines.map((line) => line.map(({ text, isMarked }) => isMarked && line.length > 1 ? markOf(text) : text));
}

/** Spaces around words are left out of the mark. */
function markOf(text: string): Part {
  const words = text.trim(), start = text.indexOf(words);
  return words === "" ? text : [text.slice(0, start), <b>{words}</b>, text.slice(start + words.length)];
}

function blockView({ sign, lines, marked = lines }: Block, index: number): Part {
  // Nothing is left out above the first line.
  if (sign === "@" && index === 0 && /^@ -[01][, ]/.test(lines[0]!)) return undefined;
  if (sign === "@") {
    const [, heading] = / @@ (.*)/.exec(lines[0]!) ?? [];
    return (
      <div class="hunk">
        <span class="sign" aria-hidden="true">⋯</span>
        {heading}
      </div>
    );
  }
  return marked.map((line) => lineView(sign, line));
}

function lineView(sign: string, line: Part): Html {
  const parts = [<span class="sign">{sign === "-" ? "−" : sign.trim()}</span>, line, "\n"];
  if (sign === "+") return <ins>{parts}</ins>;
  if (sign === "-") return <del>{parts}</del>;
  return <span class="same">{parts}</span>;
}

/** The difference as pages show it, and the later version. `id` is that of a prompt of the page's workspace. */
export async function readDifference(
  visit: ConsoleRequest,
  id: PromptId,
  from: number,
  to: number,
): Promise<{ after: PromptVersion; difference: Html }> {
  const { call } = visit;
  const [before, after, { diff }] = await Promise.all([
    call(getPromptVersion, { id, version: from }),
    call(getPromptVersion, { id, version: to }),
    call(diffVersions, { id, from, to }),
  ]);
  const difference = (
    <>
      <VariablesNotice before={before.variables} after={after.variables} />
      <Diff text={diff} label={`Version ${from} to ${to}`} />
    </>
  );
  return { after, difference };
}
