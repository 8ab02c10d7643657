// The head of a page: its title, where it stands, and what can be done.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { h } from "../html.ts";
import type { Html, Part } from "../html.ts";

type HeadingProps = { title: Part; lede?: Part; trail?: readonly { label: Part; href: string }[]; actions?: Part };

export const Heading = ({ title, lede, trail = [], actions }: HeadingProps): Html => (
  <header class="heading">
    {trail.length > 0 && (
      <nav class="trail" aria-label="Breadcrumb">
        <ol>
          {trail.map(({ label, href }) => (
            <li>
              <a href={href}>{label}</a>
            </li>
          ))}
        </ol>
      </nav>
    )}
    <div class="line">
      <h1>{title}</h1>
      {actions && <div class="actions">{actions}</div>}
    </div>
    {lede && <p class="lede">{lede}</p>}
  </header>
);

/** A part of a page under a title of its own. */
export const Section = ({ title, aside, children }: { title: string; aside?: Part; children?: Part }): Html => (
  <section>
    <div class="line">
      <h2>{title}</h2>
      {aside && <div class="aside">{aside}</div>}
    </div>
    {children}
  </section>
);
