// A person at the console without a browser: signs in, opens pages, follows links and sends forms, through the router.
import { assets } from "../../src/console/frame/assets.ts";
import { adminToken, createWorld } from "../helpers.ts";
import type { Answer, World } from "../helpers.ts";

export type Visitor = {
  /** The value of the cookie. */
  cookie: string;
  /** Opens a page at a path below the console. */
  open(path: string): Promise<Answer>;
  /** Opens a page of the world's workspace, and expects that it is there. */
  see(path: string): Promise<string>;
  /** Sends a form to a page of the world's workspace. */
  send(path: string, form: Record<string, string>): Promise<Answer>;
};

export const origin = "http://ledger.test";
/** What a browser sends with a form of the page itself. */
export const ownPage = { "Sec-Fetch-Site": "same-origin", "Content-Type": "application/x-www-form-urlencoded" };

/** Sends the form of the sign-in page. */
export const sendToken = (
  world: Pick<World, "send">,
  token: string,
  headers: Record<string, string> = ownPage,
  next = "",
) => world.send("/console/sign-in", { method: "POST", headers, body: String(new URLSearchParams({ token, next })) });

/** The cookie that an answer sets, as a browser sends it back. */
export const cookieOf = ({ headers }: Answer): string => headers.get("Set-Cookie")?.split(";")[0] ?? "";

/** Signs in to the console of a world, or of a service. */
export async function visit(world: Pick<World, "send" | "workspaceId">, token: string = adminToken): Promise<Visitor> {
  const cookie = cookieOf(await sendToken(world, token));
  const open = (path: string) => world.send(`/console/${path}`, { headers: { Cookie: cookie } });
  return {
    cookie,
    open,
    async see(path) {
      const { status, text } = await open(`${world.workspaceId}${path}`);
      if (status !== 200) throw new Error(`${path} is ${status}: ${titleOf(text)}`);
      const [wrong] = /\bNaN\b|\bInfinity\b|\bundefined\b|Invalid Date|\[object /.exec(text) ?? [];
      if (wrong !== undefined) throw new Error(`${path} shows ${wrong}`);
      return text;
    },
    send: (path, form) =>
      world.send(`/console/${world.workspaceId}${path}`, {
        method: "POST",
        headers: { ...ownPage, Cookie: cookie },
        body: String(new URLSearchParams(form)),
      }),
  };
}

export async function createVisit(options: Parameters<typeof createWorld>[0] = {}) {
  const world = await createWorld({ maxBodyBytes: 8 * 1024 * 1024, bodyBudgetBytes: 16 * 1024 * 1024, ...options });
  return { world, visitor: await visit(world) };
}

/** The title of a page. */
export const titleOf = (page: string): string => /<title>(.*) · promptledger<\/title>/s.exec(page)?.[1] ?? "";

/** The sentence that tells why a change was refused. */
export const refusalIn = (page: string): string | undefined =>
  /<div class="notice error" role="alert"><p><strong>Error<\/strong> (.*?)<\/p>/s.exec(page)?.[1]?.replaceAll(
    /<\/?a\b[^>]*>/g,
    "",
  );

/** Where the answer to a form that was sent to a page of a workspace leads: `/alerts?done=deleted`. It must not be refused. */
export function locationIn({ status, headers, text }: Answer, page: string): string {
  if (status !== 303) throw new Error(`${page} is ${status}: ${refusalIn(text)}`);
  const { pathname, search } = new URL(headers.get("Location")!, `http://ledger.test/console/workspace${page}`);
  return (pathname + search).replace(/^\/console\/\w+/, "");
}

/** The values of a page's numbers inside of the element with this id. */
export const numberAt = (page: string, id: string): number | undefined => {
  const [, value] = new RegExp(`id="${id}"><data value="([^"]+)"`).exec(page) ?? [];
  return value === undefined ? undefined : Number(value);
};

/** All numbers of a part of a page, exact, in order. */
export const valuesIn = (page: string): string[] =>
  Array.from(page.matchAll(/<data value="([^"]*)"/g), ([, value]) => value!);

/** The numbers in the cells of a table, row by row, but those of the cell that names the row. Empty if there is no such table. */
export function tableIn(page: string, caption: string): string[][][] {
  const [, body] = page.split(`<caption class="hide">${caption}</caption>`);
  const [rows = ""] = (body ?? "").split("</table>");
  return Array.from(
    rows.matchAll(/<tr><th scope="row".*?<\/tr>/gs),
    ([row]) =>
      // A number may stand alone.
      Array.from(row.matchAll(/<td[^>]*>(.*?)<\/td>/gs), ([, cell]) =>
        /^-?\d[\d.,]*$/.test(cell!) ? [cell!.replaceAll(",", "")] : valuesIn(cell!)),
  );
}

/** The relative links of a page. */
export const linksIn = (page: string): string[] =>
  Array.from(page.matchAll(/<a\b[^>]*\bhref="([^"]*)"/g), ([, href]) => href!.replaceAll("&amp;", "&"));

/** How much a browser loads for a page, with the assets that it links to. */
export const weightOf = (page: string): number =>
  Object.values(assets).reduce((sum, { hash, text }) => page.includes(hash) ? sum + text.length : sum, page.length);
