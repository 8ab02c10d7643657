// @ts-check
// Comfort for the pages, which work without it: times in the reader's zone, and keyboard shortcuts.

const zoned = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
/** @type {Intl.DateTimeFormatOptions} */
const clock = { hour: "numeric", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3 };
const exact = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "short", day: "numeric", ...clock });
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
/** @type {[Intl.RelativeTimeFormatUnit, number][]} */
const units = [["day", 86_400_000], ["hour", 3_600_000], ["minute", 60_000]];

/** How long ago a moment was, for the last week. @param {number} ms */
function ago(ms) {
  const past = Date.now() - ms;
  if (past < 0 || past > 7 * 86_400_000) return undefined;
  const [unit, size] = units.find(([, size]) => past >= size) ?? ["minute", 60_000];
  return relative.format(-Math.floor(past / size), unit);
}

/** Shows the times of a part of the page in the zone of its reader. @param {ParentNode} part */
function showTimes(part) {
  for (const element of part.querySelectorAll("time[datetime]:not([title])")) {
    const time = /** @type {HTMLTimeElement} */ (element);
    const at = new Date(time.dateTime);
    time.title = [time.textContent, ago(at.getTime())].filter(Boolean).join(", ");
    time.textContent = (time.className === "exact" ? exact : zoned).format(at);
  }
}

showTimes(document);

// On a narrow screen the navigation scrolls, and shows where one is.
const current = /** @type {HTMLElement | null} */ (document.querySelector(".side [aria-current]"));
const bar = current?.closest("nav");
if (current && bar) bar.scrollLeft = current.offsetLeft - bar.offsetLeft - bar.clientWidth / 2;

// Addresses of the service as the browser reaches it, which no proxy hides. Examples for a shell have them in single quotes.
for (const element of document.querySelectorAll("[data-address]")) {
  const { href } = new URL(element.getAttribute("data-address") ?? "", location.href);
  element.textContent = href.replace(/\/$/, "").replaceAll("'", "%27");
}

// A button that copies the text before it.
for (const secret of document.querySelectorAll(".copy > code, .copy > pre")) {
  if (!navigator.clipboard) break;
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(secret.textContent ?? "");
    button.textContent = "Copied";
  });
  secret.after(button);
}

// A form that was sent is not sent twice.
document.addEventListener("submit", (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target);
  if (form.method !== "post") return;
  if (form.dataset.sent) return void event.preventDefault();
  form.dataset.sent = "yes";
  event.submitter?.setAttribute("aria-busy", "true");
});
addEventListener("pageshow", () => {
  for (const form of document.forms) delete form.dataset.sent;
  for (const button of document.querySelectorAll("[aria-busy]")) button.removeAttribute("aria-busy");
});

// `/` goes to the search, `g` and a letter to a part of the console, `?` shows the keys. A person can turn them off.
const off = "promptledger-keys-off";
/** @type {Storage | undefined} */
let storage;
try {
  storage = localStorage;
} catch {
  // The person has forbidden it. The keys stay on.
}
let isGoing = false;

/** @param {EventTarget | null} target */
const isWriting = (target) =>
  target instanceof HTMLElement && target.matches("input, textarea, select, [contenteditable]");

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isWriting(event.target)) return;
  if (storage?.getItem(off)) return;
  if (event.key === "?") return showKeys();
  if (event.key === "/") {
    const search = /** @type {HTMLInputElement | null} */ (document.querySelector("main input[type=search]"));
    if (search) event.preventDefault();
    search?.focus();
  } else if (event.key === "g") {
    isGoing = true;
    setTimeout(() => isGoing = false, 1_200);
  } else if (isGoing) {
    isGoing = false;
    goals().get(event.key)?.click();
  }
});

/** The parts of the console, each by the first letter of its name that is no other's. */
function goals() {
  /** @type {Map<string, HTMLAnchorElement>} */
  const found = new Map();
  for (const link of /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll(".side nav a"))) {
    const key = [...link.text.toLowerCase()].find((letter) => !found.has(letter));
    if (key) found.set(key, link);
  }
  return found;
}

// Without `?`, this button turns the keys on again.
const account = document.querySelector(".account form");
if (account) {
  const button = document.createElement("button");
  button.className = "plain";
  button.textContent = "Keyboard";
  button.addEventListener("click", showKeys);
  account.before(button);
}

function showKeys() {
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-labelledby", "keys");
  const rows = [["/", "Search"], ["?", "These keys"]];
  for (const [key, link] of goals()) rows.push([`g ${key}`, link.text]);
  const list = document.createElement("dl");
  list.className = "facts";
  for (const [key, what] of rows) {
    const pair = document.createElement("div"),
      term = document.createElement("dt"),
      text = document.createElement("dd");
    const mark = document.createElement("kbd");
    mark.textContent = key ?? "";
    text.textContent = what ?? "";
    term.append(mark);
    pair.append(term, text);
    list.append(pair);
  }
  const title = document.createElement("h2");
  title.id = "keys";
  title.textContent = "Keyboard shortcuts";
  const close = document.createElement("button"), toggle = document.createElement("button");
  close.textContent = "Close";
  close.className = "primary";
  toggle.textContent = storage?.getItem(off) ? "Turn keys on" : "Turn keys off";
  toggle.addEventListener("click", () => {
    if (storage?.getItem(off)) storage.removeItem(off);
    else storage?.setItem(off, "yes");
    dialog.close();
  });
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  const actions = document.createElement("p");
  actions.className = "actions";
  actions.append(close, toggle);
  dialog.append(title, list, actions);
  document.body.append(dialog);
  dialog.showModal();
}
