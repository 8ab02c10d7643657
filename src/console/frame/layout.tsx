// The frame of every page: navigation, the workspace, the signed-in user, and links to the assets. A slow page is sent
// in two parts: a request to wait, and the page. The title is in the second, because a browser keeps the first one it
// gets.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { describeBuild } from "../../common/build.ts";
import type { ErrorKind } from "../../common/errors.ts";
import { assetPath } from "./addresses.ts";
import { Fragment, h, isolated, toHtml } from "./html.ts";
import type { Html } from "./html.ts";
import { link, navigation, sectionAddress, sectionOf, sectionTitles } from "./page.ts";
import type { ConsoleRequest, Page, Resource, Section, View } from "./page.ts";
import { doneNotice, Heading, Notice } from "./elements.tsx";
import { findFaulty } from "./form.tsx";

/** A view in the frame of every page. `kind` is the reason of a refusal that it shows. */
export type FramedView = { title: string; content: Html; kind?: ErrorKind | undefined };

/** Puts a view into the frame. */
export function layout(visit: ConsoleRequest, view: View, page: Page | Resource): FramedView {
  const { title, heading, lede, actions, done, body, kind, isWide } = view;
  const { workspace, refusal } = visit, section = sectionOf(page), refusedField = findFaulty(visit, <>{body}</>);
  const content = (
    <>
      {sideOf(visit, section)}
      <main id="main" class={isWide ? "wide" : ""} tabindex="-1">
        {refusal && (
          <Notice kind="error">
            {refusedField === undefined ? refusal.message : <a href={`#${refusedField}`}>{refusal.message}</a>}.
          </Notice>
        )}
        {done && doneNotice(visit, done)}
        {heading !== undefined && <Heading {...{ title: heading, lede, actions, trail: trailOf(visit, view, page) }} />}
        {body}
      </main>
      {workspace && paletteOf(visit)}
    </>
  );
  const fullTitle = [title, workspace?.name].filter((part) => part !== undefined).join(" · ");
  return { title: fullTitle, content, kind: refusal?.kind ?? kind };
}

/** The way to a page: its section, and the page above it. */
function trailOf(visit: ConsoleRequest, { parent, sectionQuery }: View, page: Page | Resource) {
  const section = sectionOf(page);
  if (section === undefined || ["/:workspaceId", `/:workspaceId/${section}`].includes(page.path)) return [];
  return [
    { label: sectionTitles.get(section)!, href: link(visit, [section], sectionQuery) },
    ...parent ? [parent] : [],
  ];
}

/** A page without navigation, for people who are not signed in. */
export const bareLayout = (root: string, { title, body }: View): string =>
  documentOf(root, {
    title,
    content: <main id="main" class="bare" tabindex="-1">{brand(root)}{body}</main>,
  });

/** A whole document. */
export const documentOf = (root: string, view: FramedView): string => headOf(root, titleOf(view)) + bodyOf(view);

/** A document up to the content of its body. */
const headOf = (root: string, title?: Html): string =>
  '<!doctype html><html lang="en">' + toHtml(
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      {title}
      <link rel="icon" type="image/svg+xml" href={root + assetPath("icon.svg")} />
      <link rel="stylesheet" href={root + assetPath("console.css")} />
      <script src={root + assetPath("console.js")} defer></script>
    </head>,
  ) + "<body>";

const titleOf = ({ title }: FramedView): Html => <title>{title} · promptledger</title>;

const bodyOf = ({ content }: FramedView): string =>
  toHtml(
    <>
      <a class="skip" href="#main">Skip to content</a>
      {content}
    </>,
  ) + "</body></html>";

const startOfWaiting = '<main class="bare waiting">', endOfWaiting = "</main>";

/** The first part of a page that takes long. */
export const waitingPart = (root: string): string =>
  headOf(root) + startOfWaiting + toHtml(
    <>
      <p class="brand">{mark}</p>
      <h1>Not ready yet</h1>
      <p>{explanation}</p>
    </>,
  );

// It is this long because Safari shows nothing of a page before it has some 250 characters of text.
const explanation =
  "Some pages read much of the log: the numbers of all records over a long time, or the texts of many " +
  "records. This page will appear here as soon as it is complete. You need not reload it. If you leave, the work stops and " +
  "nothing is lost. A shorter time range is faster.";

/** The second part: the page itself. The style then hides the first part. */
export const readyPart = (view: FramedView): string => endOfWaiting + toHtml(titleOf(view)) + bodyOf(view);

const mark = (
  <>
    <svg width="22" height="22" viewBox="0 0 24 24" aria-hidden="true">
      <rect class="ink" x="3" y="2" width="18" height="20" rx="4" />
      <path class="paper" d="M7.5 8h9M7.5 12h9M7.5 16h5" />
    </svg>
    promptledger
  </>
);

const magnifier = (
  <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
    <circle cx="6.5" cy="6.5" r="4.5" />
    <path d="M10 10l4 4" />
  </svg>
);

/** Dialog that the script opens in place of the search page. */
const paletteOf = (visit: ConsoleRequest): Html => (
  <template id="palette">
    <dialog class="palette" aria-label="Search">
      <form action={link(visit, ["search"])} role="search">
        <input
          name="q"
          aria-label="Name or id"
          placeholder="Prompt, deployment, session, record or page"
          autocomplete="off"
          spellcheck="false"
        />
      </form>
      <div></div>
      <p class="hint">
        <kbd>↑</kbd> <kbd>↓</kbd> to choose, <kbd>Enter</kbd> to open, <kbd>Esc</kbd> to close
      </p>
    </dialog>
  </template>
);

const brand = (root: string): Html => <a class="brand" href={root || "./"}>{mark}</a>;

function sideOf(visit: ConsoleRequest, section: Section | undefined): Html {
  const { workspace, caller, root } = visit;
  return (
    <header class="side">
      <div class="top">{brand(root)}</div>
      {workspace && (
        <>
          <a class="switch" href={`${root}workspaces`} title={workspace.name}>
            <span class="hide">{`Workspace: `}</span>
            {isolated(workspace.name)}
            <span class="hint" aria-hidden="true">switch</span>
          </a>
          <a class="finder" href={link(visit, ["search"])}>
            {magnifier}
            <span>Search</span>
          </a>
          <nav aria-label="Console">
            {navigation.map((group) => (
              <ul>
                {group.map(({ path, title }) => (
                  <li>
                    <a href={sectionAddress(visit, path)} aria-current={path === section && "page"}>{title}</a>
                  </li>
                ))}
              </ul>
            ))}
          </nav>
        </>
      )}
      <div class="account">
        <p>
          {caller.actor === "" ? "Operator" : isolated(caller.actor)}
          <span class="role">{caller.role}</span>
        </p>
        {visit.hasSession && (
          <form method="post" action={`${root}sign-out`}>
            <button class="plain">Sign out</button>
          </form>
        )}
        <p class="version">promptledger {describeBuild()}</p>
      </div>
    </header>
  );
}
