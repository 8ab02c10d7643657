// The commit that a release comes from, from variables of CI or else from git.
import type { Origin } from "../../management/kernel/origin.ts";
import { findHead, findUncommitted, withoutPassword } from "../../runtime/git.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** The name of a variable, or a function of several. */
type Said = string | ((env: Env) => string | undefined);
type Host = { commit: string; author?: string; repository: Said; change: Said };

/** The variables of each host, recognized by that of the commit. */
const hosts: Host[] = [
  { commit: "GITHUB_SHA", author: "GITHUB_ACTOR", repository: githubRepository, change: githubPull },
  { commit: "CI_COMMIT_SHA", author: "CI_COMMIT_AUTHOR", repository: "CI_PROJECT_URL", change: gitlabMerge },
  { commit: "BITBUCKET_COMMIT", repository: "BITBUCKET_GIT_HTTP_ORIGIN", change: bitbucketPull },
  {
    commit: "BUILD_SOURCEVERSION", // Azure Pipelines
    author: "BUILD_SOURCEVERSIONAUTHOR",
    repository: "BUILD_REPOSITORY_URI",
    change: "SYSTEM_PULLREQUEST_PULLREQUESTNUMBER",
  },
  { commit: "CIRCLE_SHA1", repository: "CIRCLE_REPOSITORY_URL", change: "CIRCLE_PULL_REQUEST" },
  {
    commit: "BUILDKITE_COMMIT",
    author: "BUILDKITE_BUILD_AUTHOR",
    repository: "BUILDKITE_REPO",
    change: ({ BUILDKITE_PULL_REQUEST }) => BUILDKITE_PULL_REQUEST === "false" ? undefined : BUILDKITE_PULL_REQUEST,
  },
  // Woodpecker and Forgejo's older runners
  { commit: "CI_COMMIT", repository: "CI_REPO_URL", change: "CI_COMMIT_PULL_REQUEST" },
  { commit: "GIT_COMMIT", repository: "GIT_URL", change: "CHANGE_URL" }, // Jenkins
];

function githubRepository({ GITHUB_SERVER_URL = "https://github.com", GITHUB_REPOSITORY }: Env): string | undefined {
  return GITHUB_REPOSITORY && `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}`;
}

function githubPull(env: Env): string | undefined {
  const [, number] = /^refs\/pull\/(\d+)\//.exec(env.GITHUB_REF ?? "") ?? [];
  return number && `${githubRepository(env)}/pull/${number}`;
}

function gitlabMerge({ CI_PROJECT_URL, CI_MERGE_REQUEST_IID: id }: Env): string | undefined {
  return id && `${CI_PROJECT_URL}/-/merge_requests/${id}`;
}

function bitbucketPull({ BITBUCKET_GIT_HTTP_ORIGIN, BITBUCKET_PR_ID: id }: Env): string | undefined {
  return id && `${BITBUCKET_GIT_HTTP_ORIGIN}/pull-requests/${id}`;
}

/** Origin of a folder. `commit` is the value of `--source`. Uncommitted files come from `…-dirty`, as git names it. */
export async function findOrigin(env: Env, folder: string, commit?: string): Promise<Origin> {
  const host = hosts.find((host) => env[host.commit]);
  const tell = (said: Said | undefined) => typeof said === "string" ? env[said] : said?.(env);
  const head = await findHead(folder);
  const isDirty = head !== undefined && ((await findUncommitted(folder))?.size ?? 0) > 0;
  const found = commit ?? (host && env[host.commit]) ??
    (head === undefined ? "none" : head.commit + (isDirty ? "-dirty" : ""));
  return shortened({
    commit: found,
    author: head?.author ?? tell(host?.author),
    repository: tell(host?.repository) ?? head?.repository,
    change: tell(host?.change),
  });
}

const maxLength = 200; // of a label

/** Without members that are not known, control characters, and passwords in addresses. */
function shortened(origin: Record<string, string | undefined> & { commit: string }): Origin {
  const given = Object.entries(origin).map(([name, text]) =>
    [name, text && withoutPassword(text).replace(/\p{Cc}/gu, " ").trim().slice(0, maxLength).toWellFormed()] as const
  );
  return Object.fromEntries(given.filter(([, text]) => text)) as Origin;
}
