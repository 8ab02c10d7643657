// The commit of a repository that a version or a change comes from.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { shortCommit } from "../../management/kernel/origin.ts";
import type { Origin } from "../../management/kernel/origin.ts";
import { dash } from "./format.tsx";
import { Fragment, h, isolated } from "./html.ts";
import type { Html, Part } from "./html.ts";

/** A line with the commit, its author and its pull request; nothing without an origin. */
export const OriginLine = ({ origin }: { origin: Origin | null }): Part =>
  origin !== null && (
    <p class="hint">
      {linked(commitPageOf(origin), <code>{isolated(shortCommit(origin))}</code>)}
      {origin.author !== undefined && [" by ", isolated(origin.author)]}
      {origin.change !== undefined && [" · ", changeOf(origin.change)]}
    </p>
  );

const linked = (href: string | undefined, text: Html): Html =>
  href === undefined ? text : <a href={href} rel="noreferrer">{text}</a>;

/** Reason of a change: its note, and the commit. */
export const reasonOf = ({ note, origin }: { note: string; origin: Origin | null }): Part => [
  note !== "" ? isolated(note) : origin === null && dash,
  <OriginLine origin={origin} />,
];

/** A pull request by its address or its number. Other texts are unchanged. */
function changeOf(change: string): Html {
  const url = webAddressOf(change);
  const [, number] = /^(?:.*\/)?[#!]?(\d{1,9})\/?$/.exec(url?.pathname ?? change) ?? [];
  if (number !== undefined) return linked(url?.href, <>pull request {number}</>);
  return linked(url?.href, isolated(change));
}

/** Paths of commits, below the page of the repository. Companies run GitHub and GitLab under their own names. */
const commitPaths: [host: RegExp, path: string][] = [
  [/^github\./, "commit"],
  [/^gitlab\./, "-/commit"],
  [/^bitbucket\.org$/, "commits"],
];

function commitPageOf({ commit, repository = "" }: Origin): string | undefined {
  const url = webAddressOf(repository);
  const [, path] = commitPaths.find(([host]) => url !== undefined && host.test(url.hostname)) ?? [];
  if (url === undefined || path === undefined || !/^[0-9a-f]{7,64}$/.test(commit)) return undefined;
  return `${url.origin}${url.pathname.replace(/(\.git)?\/*$/, "")}/${path}/${commit}`;
}

/** A text as an address of the web. Others, such as scripts, are no links. Neither are those with a password. */
function webAddressOf(text: string): URL | undefined {
  const url = /^https?:\/\//i.test(text) && URL.canParse(text) ? new URL(text) : undefined;
  return url === undefined || url.username !== "" || url.password !== "" ? undefined : url;
}
