// Prints a page.
import { toHtml } from "../../src/console/html.ts";
import { signInView } from "../../src/console/sign-in.tsx";

console.log(toHtml(signInView({ next: "", hasProvider: false }).body));
