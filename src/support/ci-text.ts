// Escapes texts that CI systems would take for commands in the output of a program.

type Environment = Readonly<Record<string, string | undefined>>;

// Some systems set no CI, and jobs may unset it.
const variables = [
  ...["GITHUB_ACTIONS", "GITHUB_SHA", "GITEA_ACTIONS", "FORGEJO_ACTIONS", "GITLAB_CI", "CI_COMMIT_SHA", "CI_COMMIT"],
  ...["TF_BUILD", "BUILD_SOURCEVERSION", "TEAMCITY_VERSION", "BITBUCKET_COMMIT", "BITBUCKET_BUILD_NUMBER"],
  ...["CIRCLECI", "CIRCLE_SHA1", "BUILDKITE", "BUILDKITE_COMMIT", "TRAVIS", "APPVEYOR", "DRONE", "SEMAPHORE"],
  ...["JENKINS_URL", "GIT_COMMIT", "CODEBUILD_BUILD_ID", "bamboo_buildKey", "GO_SERVER_URL", "OCTOPUS_SPACE"],
];

/** True if a CI system may read the output of the program. */
export const isInCi = (env: Environment): boolean =>
  !["", "0", "false", "no"].includes((env.CI ?? "").toLowerCase()) || variables.some((name) => env[name]);

// `##[error]` of GitHub and Azure Pipelines, `##vso[…]`, `##teamcity[…]` and `##octopus[…]` count anywhere in a line.
// In JSON they occur only in strings, where the escape is the same character.
const inLine = /(?<=#)#(?=\w*\[)/g, inPart = /(?<=#)#(?=\w*(?:\[|$))/g;
const hash = "\\u0023";

/** Escapes commands within a line, of plain text or of JSON. */
export const withoutCommands = (text: string): string => text.replace(inLine, hash);

const controls = /[^\P{Cc}\n\r\t]|[\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;
// deno-lint-ignore no-control-regex
const colour = /^\x1b\[[\d;]{0,12}m/;

const escapeOf = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** Escapes commands, and characters that could control a terminal, in JSON. Its values stay the same. */
export const harmlessJson = (json: string): string => withoutCommands(json).replace(controls, escapeOf);

// A part of an output may end within a command.
const lineStart = /(^|[\n\r])([^\S\n\r]*)(?=::|:$)/g;
const buildkiteStart = /(^|[\n\r])([^\S\n\r]*)(?=::|:$|([-+~^])(?:\3\3|\3?$))/g;

/**
 * Creates a function that escapes commands in the parts of an output, and the control characters that folds of Travis
 * and sections of GitLab need. At the start of a line, `::` is a command of GitHub, and three dashes or the like begin
 * a group of Buildkite. With `isColoured`, colours stay.
 */
export function createGuard(env: Environment, isColoured: boolean): (part: string) => string {
  const start = env.BUILDKITE ? buildkiteStart : lineStart;
  let isAtStart = true; // the line so far has only blanks
  let endsInHash = false;
  return (part) => {
    const plain = part.replace(
      controls,
      (char, at: number) => isColoured && colour.test(part.slice(at, at + 16)) ? char : escapeOf(char),
    );
    const before = endsInHash ? "#" : "", own = isAtStart ? "" : "x";
    const inLines = (before + plain).replace(inPart, hash).slice(before.length);
    const [, earlier, line = ""] = /^(.*[\n\r])?([^\n\r]*)$/s.exec(plain) ?? [];
    isAtStart = line.trim() === "" && (earlier !== undefined || isAtStart);
    endsInHash = part === "" ? endsInHash : part.endsWith("#");
    return (own + inLines).replace(start, "$1$2\\").slice(own.length);
  };
}
