// Prints a page.
import { toHtml } from "../../src/console/frame/html.ts";
import { signInView } from "../../src/console/entrance/sign-in.tsx";

console.log(toHtml(signInView({ next: "", hasProvider: false }).body));
