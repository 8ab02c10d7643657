// The head of a page: its title, where it stands, and what can be done.
import { markup } from "../html.ts";
import type { Html, Part } from "../html.ts";

type Heading = { title: Part; lede?: Part; trail?: { label: Part; href: string }[]; actions?: Part };

export const heading = ({ title, lede, trail = [], actions }: Heading): Html =>
  markup`<header class="heading">${
    trail.length > 0 &&
    markup`<nav class="trail" aria-label="Breadcrumb"><ol>${
      trail.map(({ label, href }) => markup`<li><a href="${href}">${label}</a></li>`)
    }</ol></nav>`
  }<div class="line"><h1>${title}</h1>${actions && markup`<div class="actions">${actions}</div>`}</div>${
    lede && markup`<p class="lede">${lede}</p>`
  }</header>`;

/** A part of a page under a title of its own. */
export const section = (title: string, body: Part, aside?: Part): Html =>
  markup`<section><div class="line"><h2>${title}</h2>${
    aside && markup`<div class="aside">${aside}</div>`
  }</div>${body}</section>`;
