// The frame of every page: navigation, the workspace, who is signed in, and links to the assets.
import { version } from "../../common/version.ts";
import { assetPath } from "../asset-paths.ts";
import { isolated, markup } from "../html.ts";
import type { Html } from "../html.ts";
import { link, sections } from "../page.ts";
import type { Section, View, Visit } from "../page.ts";
import { notice } from "./notice.ts";

/** A whole page. */
export function layout(visit: Visit, { title, body, isWide }: View, section: Section | undefined): string {
  const { workspace, refusal, root } = visit;
  const content = markup`${sideOf(visit, section)}<main id="main" class="${isWide ? "wide" : ""}" tabindex="-1">${
    refusal && notice("error", markup`${refusal.message}.`)
  }${body}</main>`;
  return documentOf(root, [title, workspace?.name].filter((part) => part !== undefined).join(" · "), content);
}

/** A page without navigation, for who is not signed in. */
export const bareLayout = (root: string, { title, body }: View): string =>
  documentOf(root, title, markup`<main id="main" class="bare" tabindex="-1">${brand(root)}${body}</main>`);

const documentOf = (root: string, title: string, content: Html): string =>
  markup`<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><title>${title} · promptledger</title><link rel="icon" type="image/svg+xml" href="${root}${
    assetPath("icon.svg")
  }"><link rel="stylesheet" href="${root}${assetPath("console.css")}"><script src="${root}${
    assetPath("console.js")
  }" defer></script></head><body><a class="skip" href="#main">Skip to content</a>${content}</body></html>`.toString();

const brand = (root: string) =>
  markup`<a class="brand" href="${
    root ||
    "./"
  }"><svg width="22" height="22" viewBox="0 0 24 24" aria-hidden="true"><rect class="ink" x="3" y="2" width="18" height="20" rx="4"/><path class="paper" d="M7.5 8h9M7.5 12h9M7.5 16h5"/></svg>promptledger</a>`;

const groups: Section[][] = [
  ["overview", "prompts", "deployments", "records", "sessions", "usage"],
  ["keys", "tokens", "prices", "settings", "audit"],
];

function sideOf(visit: Visit, section: Section | undefined): Html {
  const { workspace, caller, root } = visit;
  return markup`<header class="side"><div class="top">${brand(root)}</div>${
    workspace &&
    markup`<a class="switch" href="${root}workspaces" title="${workspace.name}"><span class="hide">Workspace: </span>${
      isolated(
        workspace.name,
      )
    }<span class="hint" aria-hidden="true">switch</span></a><nav aria-label="Console">${
      groups.map((group) =>
        markup`<ul>${
          group.map((name) =>
            markup`<li><a href="${link(visit, name === "overview" ? [] : [name])}"${
              name === section && markup` aria-current="page"`
            }>${sections[name]}</a></li>`
          )
        }</ul>`
      )
    }</nav>`
  }<div class="account"><p>${
    caller.actor === "" ? "Operator" : isolated(caller.actor)
  }<span class="role">${caller.role}</span></p><form method="post" action="${root}sign-out"><button class="plain">Sign out</button></form><p class="version">promptledger ${version}</p></div></header>`;
}
