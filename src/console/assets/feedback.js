// @ts-check
// Keys of the pages on which one gives feedback. An element names its own in aria-keyshortcuts.

const keyed = /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[aria-keyshortcuts]"));
/** @param {HTMLElement} element */
const keysOf = (element) => (element.getAttribute("aria-keyshortcuts") ?? "").split(" ");

/** Whether the person has turned off shortcuts that are a single key. */
function isOff() {
  try {
    return localStorage.getItem("promptledger-keys-off") !== null;
  } catch {
    return false; // The person has forbidden it.
  }
}

/** Adds the keys to the dialog that lists all. */
function explain() {
  const list = document.querySelector(".shortcuts:not([data-all])");
  list?.setAttribute("data-all", "");
  for (const element of list ? keyed : []) {
    const key = document.createElement("dt"), what = document.createElement("dd");
    key.append(
      ...keysOf(element).flatMap((key) => [Object.assign(document.createElement("kbd"), { textContent: key }), " "]),
    );
    what.textContent = element.closest("form")?.getAttribute("aria-label") ?? element.textContent;
    list?.append(key, what);
  }
}

document.addEventListener("click", explain);
document.addEventListener("keydown", (event) => {
  explain();
  const { key, target } = event;
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isOff()) return;
  if (document.querySelector("dialog[open]")) return;
  if (target instanceof HTMLElement && target.matches("input, textarea, select, [contenteditable]")) return;
  const found = [...keyed].find((element) => keysOf(element).includes(key));
  if (!found) return;
  event.preventDefault();
  if (found instanceof HTMLAnchorElement) found.click();
  else found.focus();
});
