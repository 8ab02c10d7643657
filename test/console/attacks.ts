// Texts that harm pages which show them as anything but text.
import * as assert from "uvu/assert";

export const attacks: Record<string, string> = {
  "a script": "<script>document.title='pwned'</script>",
  "an end of the element that it is in": "</pre></textarea></title></bdi><script>document.title='pwned'</script>",
  "an event handler": '"><img src=x onerror="document.title=\'pwned\'">',
  "an attribute": "\" onmouseover=\"document.title='pwned'\" autofocus onfocus='document.title=1' x=\"",
  "a link with a script": "[click](javascript:document.title='pwned') javascript:document.title='pwned'",
  "an SVG with a script": "<svg onload=\"document.title='pwned'\"><math><mtext></form><form>",
  "marks that reverse a line": "abc\u202egnp.exe\u2066\u2069\u200f\u061c\u202d",
  "control characters": "\u0000\u0001\u0008\u001b[31mred\u007f\u0085\u2028",
  "a template": "${document.title} {{constructor}} {{__proto__}} <%= 1 %> #{1}",
  "a comment": "<!-- --!><script>document.title='pwned'</script> ]]> <![CDATA[",
  "a long line": "A".repeat(20_000),
};

/** A page without what its fields send back, which keeps all its characters. */
export const withoutFields = (page: string) =>
  page.replace(/ value="[^"]*"/g, "").replace(/(<textarea[^>]*>).*?(<\/textarea>)/gs, "$1$2");

/** Fails if a text left its place in the page: it made an element, an attribute, or changed the direction of a line. */
export function assertHarmless(page: string, name: string): void {
  assert.not.match(page, /<(img|iframe|svg[^>]*onload|math|object|embed|marquee)[\s>]/i, name);
  assert.not.match(page, /<script(?! src="[./]+a\/[0-9a-f]{16}\.js" defer><\/script>)/, name);
  assert.not.match(page.replace(/"[^"]*"/g, '""'), /<\w[^>]*\son\w+\s*=/i, name);
  assert.not.match(page, /\b(href|src|action)="\s*(javascript|data|vbscript):/i, name);
  assert.not.match(page, /[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]|\0/, name);
}
