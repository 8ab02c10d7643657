// `promptledger.yml`: which folder holds the prompts of which workspace, what goes to which deployment, and which warnings
// are expected.
import { deploymentName, promptName } from "../management/kernel/values.ts";
import { isCount } from "../schema/values.ts";
import { placeOf } from "./formats/faults.ts";
import type { Place, Report } from "./formats/faults.ts";
import { readMembersOf } from "./formats/members.ts";
import { offsetOfPath, readYaml } from "./formats/yaml.ts";

/** Versions that a deployment gets: the newest of each prompt, or the pinned ones. */
export type Target = "latest" | "pinned";

/** A manifest. Each member has a default, so a manifest is optional. */
export type Manifest = {
  /** The workspace by its id or name. */
  workspace?: string | undefined;
  /**
   * Folder of the prompts, relative to the manifest. Default: `prompts`, or the manifest's own folder if that does not
   * exist.
   */
  folder?: string | undefined;
  /** Targets by the names of deployments, for each prompt. */
  deploy: ReadonlyMap<string, Target>;
  /** The versions of prompts, by the name of a deployment and that of a prompt. */
  pinned: ReadonlyMap<string, ReadonlyMap<string, number>>;
  /** Expected warnings by the paths of files, in which `*` is any text. */
  acknowledged: ReadonlyMap<string, Acknowledgement>;
};

/** Parts of the messages of warnings, of which an empty one is in any. `place` is where the manifest has them. */
type Acknowledgement = { texts: readonly string[]; place: Place };

/** The names that the file may have. The first one goes first. */
export const manifestNames = ["promptledger.yml", "promptledger.yaml"] as const;

export const defaultManifest: Manifest = { deploy: new Map(), pinned: new Map(), acknowledged: new Map() };

const members = ["workspace", "folder", "deploy", "pinned", "acknowledged"];

/** Reads a manifest. Returns undefined if it reported a fault. */
export function readManifest(source: string, report: Report): Manifest | undefined {
  const yaml = readYaml(source, 0, report);
  if (yaml === undefined) return undefined;
  const { text, mapping, offsetOf, refuseOthers, isGood } = readMembersOf(yaml.members, report);
  refuseOthers(members);
  let isFine = true;
  const refuse = (name: string, message: string) => {
    report(offsetOf(name), message);
    isFine = false;
  };
  const entriesOf = (name: string) => Object.entries(JSON.parse(mapping(name) ?? "{}") as Record<string, unknown>);

  const folder = text("folder");
  if (folder !== undefined && /^([/\\]|[a-z]:)|(^|[/\\])\.\.([/\\]|$)/i.test(folder)) {
    refuse("folder", "Field folder must be a folder beside the manifest");
  }
  const deploy = new Map<string, Target>();
  for (const [name, target] of entriesOf("deploy")) {
    if (!deploymentName.is(name)) {
      refuse("deploy", `Field deploy.${name} must name a deployment: ${deploymentName.type}`);
    } else if (target !== "latest" && target !== "pinned") {
      refuse("deploy", `Field deploy.${name} must be latest or pinned`);
    } else deploy.set(name, target);
  }
  const pinned = new Map<string, Map<string, number>>();
  for (const [name, versions] of entriesOf("pinned")) {
    if (deploy.get(name) !== "pinned") refuse("pinned", `Field pinned.${name} needs deploy.${name}: pinned`);
    else if (typeof versions !== "object" || versions === null) {
      refuse("pinned", `Field pinned.${name} must be a mapping of prompts to versions`);
    } else pinned.set(name, readVersions(`pinned.${name}`, versions, (message) => refuse("pinned", message)));
  }
  const acknowledged = new Map<string, Acknowledgement>();
  for (const [path, parts] of entriesOf("acknowledged")) {
    const place = placeOf(source, offsetOfPath(yaml.document, ["acknowledged", path]));
    if (parts === "all") acknowledged.set(path, { texts: [""], place });
    else if (Array.isArray(parts) && parts.every((text) => typeof text === "string")) {
      acknowledged.set(path, { texts: parts, place });
    } else refuse("acknowledged", `Field acknowledged.${path} must be all, or a list of parts of warnings`);
  }
  return isGood() && isFine ? { workspace: text("workspace"), folder, deploy, pinned, acknowledged } : undefined;
}

/** Finds the warnings that a manifest acknowledges, and what of it acknowledges nothing. */
export function acknowledgementsOf({ acknowledged }: Manifest) {
  const rules = [...acknowledged].flatMap(([path, { texts, place }]) =>
    texts.map((text) => ({
      ...{ path, place, text, isUsed: false },
      pattern: new RegExp(`^${path.replace(/[\\^$.|?+()[\]{}]/g, "\\$&").replace(/\*+/g, "[^]*")}$`),
    }))
  );
  return {
    /** Returns whether a warning of a file is acknowledged. */
    covers(file: string, message: string): boolean {
      const covering = rules.filter(({ pattern, text }) => message.includes(text) && pattern.test(file));
      for (const rule of covering) rule.isUsed = true;
      return covering.length > 0;
    },
    unused: () => rules.filter(({ isUsed }) => !isUsed),
  };
}

function readVersions(path: string, versions: object, refuse: (message: string) => void): Map<string, number> {
  const read = new Map<string, number>();
  for (const [name, version] of Object.entries(versions)) {
    if (!promptName.is(name)) refuse(`Field ${path} must name prompts, not ${name}`);
    else if (!isCount(version) || version < 1) refuse(`Field ${path}.${name} must be a version: an integer from 1`);
    else read.set(name, version);
  }
  return read;
}
