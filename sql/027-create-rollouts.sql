-- Rollouts: a share of the callers of a deployment gets a candidate, the others the version that is live.

create table rollouts (
  id text primary key,
  workspace_id text not null,
  deployment_id text not null,
  -- The version that is live while it lasts.
  base_version integer not null,
  version integer not null check (version <> base_version),
  -- In tenths of a percent.
  share integer not null check (share between 1 and 1000),
  -- What buckets are made with. It is new in each rollout, so that two are independent, and stays while the share changes.
  salt text not null,
  note text not null,
  started_at integer not null,
  started_by text not null,
  ended_at integer,
  outcome text check (outcome in ('promoted', 'replaced', 'rolled_back', 'stopped', 'guard', 'deactivated', 'archived')),
  check ((ended_at is null) = (outcome is null))
) strict;

-- A deployment has one rollout at a time. Reads of prompts look it up.
create unique index active_rollouts on rollouts (deployment_id) where ended_at is null;

create index rollouts_by_deployment on rollouts (deployment_id, id);

create index rollouts_by_workspace on rollouts (workspace_id, id);

-- Which rollout chose the version of a submit. Null if none did, and for reads.
alter table calls add column rollout_id text;

-- Finds the records of a rollout. A call without one has no entry.
create index calls_by_rollout on calls (rollout_id, prompt_version, position) where rollout_id is not null;
