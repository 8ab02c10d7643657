// @ts-check
// The form of an edited prompt, which works without it: variables are lit up while one writes, and the preview follows.

const draft = /** @type {HTMLFormElement} */ (document.querySelector("#draft"));
const placeholder = new RegExp(draft.dataset.placeholder ?? "", "gu");
const mostLit = 50_000; // characters. A longer text takes too long to draw with each key

/** Puts the same text behind an area, in which only the variables show. @param {HTMLTextAreaElement} area */
function lightUp(area) {
  const frame = document.createElement("div"), behind = document.createElement("div");
  frame.className = "lit";
  behind.setAttribute("aria-hidden", "true");
  area.before(frame);
  frame.append(behind, area);
  const draw = () => {
    const text = area.value, isLong = text.length > mostLit;
    frame.classList.toggle("long", isLong);
    /** @type {(Node | string)[]} */
    const parts = [];
    let last = 0;
    for (const { 0: whole, index } of isLong ? [] : text.matchAll(placeholder)) {
      const mark = document.createElement("mark");
      mark.textContent = whole;
      parts.push(text.slice(last, index), mark);
      last = index + whole.length;
    }
    // The line after a line break at the end is empty, and has no height without another one.
    behind.replaceChildren(...parts, isLong ? "" : `${text.slice(last)}\n`);
  };
  area.addEventListener("input", draw);
  // A browser may restore what was written.
  addEventListener("pageshow", draw);
  draw();
}

for (const area of draft.querySelectorAll("textarea[name^=content-], textarea[name^=more-]")) {
  lightUp(/** @type {HTMLTextAreaElement} */ (area));
}

/** @type {number | undefined} */
let waiting;
let isEdited = false, newest = 0;

/** Shows the preview of what is written, and what is wrong with each field, or may be. */
async function preview() {
  const number = ++newest;
  const body = new URLSearchParams(/** @type {[string, string][]} */ ([...new FormData(draft)]));
  body.set("do", "preview");
  const response = await fetch(location.href, { method: "POST", body }).catch(() => undefined);
  if (!response || number !== newest) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const fresh = page.querySelector("#preview"), shown = document.querySelector("#preview");
  if (!fresh || !shown) return;
  for (const { id, className, textContent } of page.querySelectorAll(".fault, .warned")) {
    const said = document.getElementById(id);
    if (said && said.textContent !== textContent) said.textContent = textContent;
    if (className !== "fault") continue;
    document.getElementById(id.replace("fault-", ""))?.setAttribute("aria-invalid", String(textContent !== ""));
  }
  const focused = document.activeElement?.id, { scrollTop } = shown;
  /** @type {Map<string, string>} */
  const values = new Map();
  for (const input of shown.querySelectorAll("input")) values.set(input.id, input.value);
  for (const input of fresh.querySelectorAll("input")) input.value = values.get(input.id) ?? input.value;
  shown.replaceWith(fresh);
  fresh.scrollTop = scrollTop;
  if (focused) document.getElementById(focused)?.focus();
}

// The example values stand outside of the form that they belong to.
document.addEventListener("input", (event) => {
  if (/** @type {HTMLInputElement} */ (event.target).form !== draft) return;
  isEdited = true;
  clearTimeout(waiting);
  waiting = setTimeout(preview, 500);
});
draft.addEventListener("submit", () => isEdited = false);
addEventListener("beforeunload", (event) => {
  if (isEdited) event.preventDefault();
});
