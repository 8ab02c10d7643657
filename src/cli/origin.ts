// The commit that a release comes from: what CI says of it in variables, or else git.
import type { Origin } from "../management/origin.ts";
import { findHead, findUncommitted, withoutPassword } from "../runtime/git.ts";

type Env = Readonly<Record<string, string | undefined>>;

type Host = {
  commit: string;
  author?: string;
  repository?(env: Env): string | undefined;
  change?(env: Env): string | undefined;
};

/** The variables of each host, by the one that tells the commit. */
const hosts: Host[] = [
  {
    commit: "GITHUB_SHA",
    author: "GITHUB_ACTOR",
    repository: githubRepository,
    change: (env) => {
      const [, number] = /^refs\/pull\/(\d+)\//.exec(env.GITHUB_REF ?? "") ?? [];
      return number && `${githubRepository(env)}/pull/${number}`;
    },
  },
  {
    commit: "CI_COMMIT_SHA", // GitLab
    author: "CI_COMMIT_AUTHOR",
    repository: ({ CI_PROJECT_URL }) => CI_PROJECT_URL,
    change: ({ CI_PROJECT_URL, CI_MERGE_REQUEST_IID }) =>
      CI_MERGE_REQUEST_IID && `${CI_PROJECT_URL}/-/merge_requests/${CI_MERGE_REQUEST_IID}`,
  },
  {
    commit: "BITBUCKET_COMMIT",
    repository: ({ BITBUCKET_GIT_HTTP_ORIGIN }) => BITBUCKET_GIT_HTTP_ORIGIN,
    change: ({ BITBUCKET_GIT_HTTP_ORIGIN, BITBUCKET_PR_ID }) =>
      BITBUCKET_PR_ID && `${BITBUCKET_GIT_HTTP_ORIGIN}/pull-requests/${BITBUCKET_PR_ID}`,
  },
  {
    commit: "BUILD_SOURCEVERSION", // Azure Pipelines
    author: "BUILD_SOURCEVERSIONAUTHOR",
    repository: ({ BUILD_REPOSITORY_URI }) => BUILD_REPOSITORY_URI,
    change: ({ SYSTEM_PULLREQUEST_PULLREQUESTNUMBER }) => SYSTEM_PULLREQUEST_PULLREQUESTNUMBER,
  },
  {
    commit: "CIRCLE_SHA1",
    author: "CIRCLE_USERNAME",
    repository: ({ CIRCLE_REPOSITORY_URL }) => CIRCLE_REPOSITORY_URL,
    change: ({ CIRCLE_PULL_REQUEST }) => CIRCLE_PULL_REQUEST,
  },
  {
    commit: "BUILDKITE_COMMIT",
    author: "BUILDKITE_BUILD_AUTHOR",
    repository: ({ BUILDKITE_REPO }) => BUILDKITE_REPO,
    change: ({ BUILDKITE_PULL_REQUEST }) => BUILDKITE_PULL_REQUEST === "false" ? undefined : BUILDKITE_PULL_REQUEST,
  },
  {
    commit: "CI_COMMIT", // Woodpecker and Forgejo's older runners
    repository: ({ CI_REPO_URL }) => CI_REPO_URL,
    change: ({ CI_COMMIT_PULL_REQUEST }) => CI_COMMIT_PULL_REQUEST,
  },
  {
    commit: "GIT_COMMIT", // Jenkins
    repository: ({ GIT_URL }) => GIT_URL,
    change: ({ CHANGE_URL }) => CHANGE_URL,
  },
];

function githubRepository({ GITHUB_SERVER_URL = "https://github.com", GITHUB_REPOSITORY }: Env): string | undefined {
  return GITHUB_REPOSITORY && `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}`;
}

/** Where a folder comes from. `commit` is what `--source` says. Files that are in no commit come from `…-dirty`, as git names it. */
export async function findOrigin(env: Env, folder: string, commit?: string): Promise<Origin> {
  const host = hosts.find((host) => env[host.commit]);
  const head = await findHead(folder);
  const isDirty = head !== undefined && ((await findUncommitted(folder))?.size ?? 0) > 0;
  const found = commit ?? (host && env[host.commit]) ??
    (head === undefined ? "none" : head.commit + (isDirty ? "-dirty" : ""));
  return shortened({
    commit: found,
    author: head?.author ?? (host?.author && env[host.author]),
    repository: host?.repository?.(env) ?? head?.repository,
    change: host?.change?.(env),
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
