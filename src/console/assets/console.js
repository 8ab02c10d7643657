// @ts-check
// Comfort for the pages, which work without it: times in the reader's zone, a search, and keyboard shortcuts.

/** @type {Intl.DateTimeFormatOptions} */
const clock = { hour: "numeric", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3 };
const exact = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "short", day: "numeric", ...clock });
/** @type {[string, number][]} */
const units = [["d", 86_400_000], ["h", 3_600_000], ["min", 60_000]];

/** How long ago a moment was, or its day, in the words of the pages. @param {Date} at */
function ago(at) {
  const past = Date.now() - at.getTime(), away = Math.abs(past);
  if (away >= 7 * 86_400_000) {
    const year = at.getFullYear() === new Date().getFullYear() ? undefined : "numeric";
    return at.toLocaleDateString("en-GB", { day: "numeric", month: "short", year });
  }
  const [unit, size] = units.find(([, size]) => away >= size) ?? [];
  if (!size) return "just now";
  const words = `${Math.floor(away / size)} ${unit}`;
  return past < 0 ? `in ${words}` : `${words} ago`;
}

/** Shows the times of a part of the page in the zone of its reader. @param {ParentNode} part */
function showTimes(part) {
  for (const element of part.querySelectorAll("time[datetime]")) {
    const time = /** @type {HTMLTimeElement} */ (element), at = new Date(time.dateTime);
    if (time.className === "ago hour") {
      time.title = `In the hour of ${exact.format(at)}`;
      time.textContent = Math.abs(Date.now() - at.getTime()) < 3_600_000 ? "in the last hour" : ago(at);
    } else if (time.className === "ago") {
      time.title = exact.format(at);
      time.textContent = ago(at);
    } else if (!time.title) {
      time.title = time.textContent ?? "";
      time.textContent = exact.format(at);
    }
  }
}

setInterval(() => showTimes(document), 60_000);
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
  const button = /** @type {HTMLButtonElement} */ (make("button", "Copy"));
  button.type = "button";
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

// `/` and Ctrl-K search, `g` and a letter lead to a part of the console, `?` shows them all. A person can turn off those that
// are a single key.
const off = "promptledger-keys-off";
/** @type {Storage | undefined} */
let storage;
try {
  storage = localStorage;
} catch {
  // The person has forbidden it. The shortcuts stay on.
}

// Filters apply as they change, but for those that have a button of their own. The field that was changed has the focus again on
// the next page.
const focused = "pl-field";
const filters = /** @type {HTMLFormElement | null} */ (document.querySelector("form.filters"));
filters?.addEventListener("change", ({ target }) => {
  if (!(/** @type {HTMLElement} */ (target).closest("details.wide"))) filters.requestSubmit();
});
filters?.addEventListener("submit", () => storage?.setItem(focused, document.activeElement?.id ?? ""));
filters?.addEventListener("formdata", ({ formData }) => {
  for (const [name, value] of [...formData]) if (value === "") formData.delete(name);
});
const changed = /** @type {HTMLInputElement | null} */ (filters?.elements.namedItem(storage?.getItem(focused) ?? ""));
storage?.removeItem(focused);
changed?.closest("details")?.setAttribute("open", "");
changed?.focus();

const isMac = /Mac|iP/.test(navigator.platform), modified = isMac ? "⌘ K" : "Ctrl K";
let isGoing = false;

/** @param {EventTarget | null} target */
const isWriting = (target) =>
  target instanceof HTMLElement && target.matches("input, textarea, select, [contenteditable]");

document.addEventListener("keydown", (event) => {
  if (document.querySelector("dialog[open]")) return;
  if (event.key === "k" && (isMac ? event.metaKey : event.ctrlKey) && !event.altKey) {
    event.preventDefault();
    return openSearch();
  }
  if (event.ctrlKey || event.metaKey || event.altKey || isWriting(event.target)) return;
  if (storage?.getItem(off)) return;
  if (event.key === "?") return showShortcuts();
  if (event.key === "/") {
    event.preventDefault();
    openSearch();
  } else if (event.key === "g") {
    isGoing = true;
    setTimeout(() => isGoing = false, 1_200);
  } else if (isGoing) {
    isGoing = false;
    event.preventDefault();
    goals().get(event.key)?.click();
  }
});

/** The parts of the console, each by the first letter of its name that is no other's. */
function goals() {
  /** @type {Map<string, HTMLAnchorElement>} */
  const found = new Map();
  for (const link of /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll(".side nav a"))) {
    const key = [...link.text.toLowerCase()].find((letter) => letter > " " && !found.has(letter));
    if (key) found.set(key, link);
  }
  return found;
}

/** Makes an element. @param {string} tag @param {(Node | string)[]} content */
function make(tag, ...content) {
  const element = document.createElement(tag);
  element.append(...content);
  return element;
}

/** Opens a dialog. A click beside it closes it. @param {HTMLDialogElement} dialog */
function show(dialog) {
  dialog.setAttribute("closedby", "any");
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

// The page that searches, as a dialog over any other page.
const finder = /** @type {HTMLAnchorElement | null} */ (document.querySelector(".finder"));
finder?.append(make("kbd", modified));
finder?.addEventListener("click", (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  openSearch();
});

function openSearch() {
  const template = /** @type {HTMLTemplateElement | null} */ (document.querySelector("#palette"));
  if (!template) return;
  const dialog = /** @type {HTMLDialogElement} */ (template.content.firstElementChild?.cloneNode(true));
  const form = /** @type {HTMLFormElement} */ (dialog.querySelector("form"));
  const input = /** @type {HTMLInputElement} */ (dialog.querySelector("input"));
  const results = /** @type {HTMLElement} */ (dialog.querySelector("div"));
  let request = new AbortController(), shown = "";
  /** @type {number | undefined} */
  let waiting;
  const find = async () => {
    const text = input.value;
    request.abort();
    request = new AbortController();
    try {
      const url = `${form.action}?${new URLSearchParams({ q: text })}`;
      const response = await fetch(url, { signal: request.signal });
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const found = page.querySelector("#results");
      for (const link of found?.querySelectorAll("a") ?? []) {
        link.href = new URL(link.getAttribute("href") ?? "", response.url).href;
      }
      results.replaceChildren(...found?.childNodes ?? []);
      showTimes(results);
      shown = text;
    } catch {
      // The person has gone on, or the service is away. Then Enter leads to the page, which says so.
    }
  };
  input.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(find, 150);
  });
  form.addEventListener("submit", (event) => {
    const first = results.querySelector("a");
    if (!first || shown !== input.value) return;
    event.preventDefault();
    first.click();
  });
  dialog.addEventListener("keydown", (event) => {
    const links = [...results.querySelectorAll("a")], at = links.findIndex((link) => link === document.activeElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      (links[Math.min(at + step, links.length - 1)] ?? input).focus();
    } else if (at >= 0 && (event.key.length === 1 || event.key === "Backspace")) input.focus();
  });
  dialog.addEventListener("close", () => request.abort());
  show(dialog);
  find();
}

// Without `?`, this button turns the shortcuts on again.
const account = document.querySelector(".account form");
if (account) {
  const button = make("button", "Keyboard shortcuts");
  button.className = "plain";
  button.addEventListener("click", showShortcuts);
  account.before(button);
}

function showShortcuts() {
  const dialog = /** @type {HTMLDialogElement} */ (make("dialog", make("h2", "Keyboard shortcuts")));
  dialog.setAttribute("aria-label", "Keyboard shortcuts");
  const list = make("dl"), close = make("button", "Close"), isOff = storage?.getItem(off);
  const rows = [["Search", "/"], ["Search", modified], ["Keyboard shortcuts", "?"]];
  for (const [key, { text }] of goals()) rows.push([text, `g ${key}`]);
  for (const [what = "", key = ""] of rows) list.append(make("dt", make("kbd", key)), make("dd", what));
  list.className = "shortcuts";
  close.className = "primary";
  close.addEventListener("click", () => dialog.close());
  const toggle = make("button", `Turn ${isOff ? "on" : "off"} single keys`);
  toggle.addEventListener("click", () => {
    if (isOff) storage?.removeItem(off);
    else storage?.setItem(off, "yes");
    dialog.close();
  });
  const actions = make("p", close, toggle);
  actions.className = "actions";
  dialog.append(list, actions);
  show(dialog);
}
