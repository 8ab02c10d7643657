// The faces of a service with a separate process or Worker.
import type { Config } from "../settings/config.ts";
import type { Log } from "../../common/log.ts";
import { urlFault } from "../../support/outbound-url.ts";
import { consolePagesWith } from "../../console/face.ts";
import type { ConsoleFace, ReadBackups } from "../../console/face.ts";
import type { Face } from "../../http/face.ts";
import { feedback } from "../../feedback/face/feedback.ts";
import { managementWith } from "../../faces/management.ts";
import { openapi } from "../../faces/openapi.ts";
import { peopleOf } from "../../faces/sign-in/people.ts";

/**
 * Creates all faces for the settings, and adds others. While management is off, the console names the settings that
 * turn it on. `faultOf` returns why nothing may be sent to a URL, as far as the runtime can check. `onWebhook` is
 * called after one was created, and `readBackups` for pages that show the state of backups. `log` gets the reasons of
 * refused sign-ins, and `fetch` sends requests to the identity provider.
 */
export function servedFaces(
  { adminToken, management: tokens, webhookAllow, people }: Pick<
    Config,
    "adminToken" | "management" | "webhookAllow" | "people"
  >,
  others: readonly Face[] = [],
  { faultOf = urlFault, onWebhook, readBackups, log, fetch: send }: {
    faultOf?: typeof urlFault;
    onWebhook?: () => void;
    readBackups?: ReadBackups | undefined;
    log?: Log | undefined;
    fetch?: typeof fetch;
  } = {},
): { pages: ConsoleFace; faces: Face[] } {
  const pages = consolePagesWith({ mayBeOff: true, readBackups });
  const management = managementWith({ adminToken, tokens }, undefined, {
    urlFault: (url) => faultOf(url, webhookAllow),
    people: people && peopleOf(people, send, log),
    onWebhook,
  });
  return { pages, faces: [management, openapi(), feedback(), pages, ...others] };
}
