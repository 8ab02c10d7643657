// How HTML is made: elements, components, and texts that show as texts, whatever is in them.
// Runs on every runtime in CI.
import fc from "fast-check";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { breakable, exact, Fragment, h, isolated, toHtml } from "../../src/console/frame/html.ts";
import type { Part } from "../../src/console/frame/html.ts";
import { createFolder, startProgram } from "../conformance/processes.ts";
import { commandOf, currentRuntime, pathOf } from "../runtimes.ts";

const test = suite("html");

test("an element has its attributes and what is put into it", () => {
  const link = h("a", { href: "../keys", "aria-current": "page" }, "Keys", " and ", h("b", null, 2));
  assert.is(toHtml(link), '<a href="../keys" aria-current="page">Keys and <b>2</b></a>');
});

test("an attribute is left out where it is false, null or undefined, and has no value where it is true", () => {
  const input = h("input", { name: "", checked: true, required: false, list: undefined, min: null, step: 0 });
  assert.is(toHtml(input), '<input name="" checked step="0">');
});

test("a void element has no end, and a shape of SVG ends itself", () => {
  assert.is(toHtml(h("p", null, h("br", null), h("wbr", null))), "<p><br><wbr></p>");
  assert.is(toHtml(h("svg", null, h("rect", { width: "2" }))), '<svg><rect width="2" /></svg>');
  assert.is(toHtml(h("p", null)), "<p></p>");
});

test("nothing shows of undefined, null and booleans, and lists show their items", () => {
  assert.is(toHtml([undefined, null, true, false, "", 0, ["a", [h("i", null, "b")], -1.5]]), "0a<i>b</i>-1.5");
  assert.is(toHtml(h(Fragment, null, "a", h(Fragment, null), "b")), "ab");
});

test("a component gets its attributes as they are, and what is put into it", () => {
  const Titled = ({ names, children }: { names: string[]; children?: Part }): Part => [names.join(), ": ", children];
  assert.is(toHtml(h(Titled, { names: ["<a>", "b"] }, h("i", null, "c"), "&")), "&lt;a&gt;,b: <i>c</i>&amp;");
});

test("a component hands on what is put into it, unless it puts something else there", () => {
  const Inner = ({ children }: { children?: Part }): Part => h("p", null, children);
  const Outer = (props: { children?: Part }): Part => h(Inner, props);
  const Other = (props: { children?: Part }): Part => h(Inner, props, "other");
  assert.is(toHtml([h(Outer, null, "own"), h(Other, null, "own")]), "<p>own</p><p>other</p>");
});

test("characters with a meaning in HTML are escaped in texts and in attributes", () => {
  const text = `<script>"&amp;'</script>`, escaped = "&lt;script&gt;&quot;&amp;amp;&#39;&lt;/script&gt;";
  assert.is(toHtml(h("p", { title: text }, text)), `<p title="${escaped}">${escaped}</p>`);
});

test("characters that are invisible, or change the direction of a line, show as what they are", () => {
  assert.is(toHtml("a\0b\u001b[31m\u007f\u202e\u2066"), "a␀b␛[31m⟨U+007F⟩⟨U+202E⟩⟨U+2066⟩");
  assert.is(toHtml("a\tb\r\nc"), "a\tb\r\nc");
});

test("a text that a form sends back keeps its invisible characters", () => {
  assert.is(toHtml(h("input", { value: exact('\u202e"\0') })), '<input value="\u202e&quot;\0">');
});

test("a name is isolated from the direction of what surrounds it, and a long one breaks at its parts", () => {
  assert.is(toHtml(isolated("a<b")), "<bdi>a&lt;b</bdi>");
  assert.is(toHtml(breakable("shop/<b>@live")), "<bdi>shop/<wbr>&lt;b&gt;<wbr>@live</bdi>");
});

const entities: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" };

/** The text that a browser reads where there are no tags. */
function textIn(html: string): string {
  assert.not.match(html, /[<>"']/);
  return html.replace(/&([^;]*);/g, (_, name) => entities[name]!);
}

const anyText = fc.array(fc.oneof(
  fc.string({ unit: "binary" }),
  fc.constantFrom("<", ">", "&", '"', "'", "</p>", "&lt;", "<!--", "]]>", "\ud83d", "\0", "\u202e", "\u009f", "\n"),
)).map((parts) => parts.join(""));

const hidden = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

test("a text comes out as it is, in an element and in an attribute", () => {
  fc.assert(fc.property(anyText, anyText, (title, text) => {
    const html = toHtml(h("p", { title: exact(title) }, exact(text)));
    const [, inAttribute, inElement] = /^<p title="([^"]*)">([^<]*)<\/p>$/.exec(html)!;
    assert.equal([textIn(inAttribute!), textIn(inElement!)], [title, text]);
  }));
});

test("a text that shows differs in its invisible characters alone, and has none of them but tabs and line ends", () => {
  fc.assert(fc.property(anyText, (text) => {
    const shown = textIn(toHtml(text));
    assert.not.match(shown.replace(/[\t\r\n]/g, ""), hidden);
    const back = shown.replace(/⟨U\+([0-9A-F]{4})⟩/g, (_, code) => String.fromCharCode(parseInt(code, 16)))
      .replace(/[\u2400-\u241f]/g, (picture) => String.fromCharCode(picture.charCodeAt(0) - 0x2400));
    assert.is(back, text.replace(/[\u2400-\u241f]/g, (picture) => String.fromCharCode(picture.charCodeAt(0) - 0x2400)));
  }));
});

/** The command that runs a file from its source. */
const commandFor = (file: string): string[] =>
  currentRuntime === "Node"
    ? ["node", "--import", import.meta.resolve("tsx"), pathOf(file)]
    : commandOf[currentRuntime](file);

test("pages are made in any working directory", async () => {
  const folder = await createFolder();
  try {
    const { seen } = await startProgram(commandFor("test/console/print-page.ts"), {}, /(<h1>.*<\/p>)/, folder.path);
    assert.match(seen, '<h1>Sign in</h1><p class="lede">');
  } finally {
    await folder.remove();
  }
});

test.run();
