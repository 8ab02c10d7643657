-- How many other people must approve a change of a deployment.
alter table deployments add column approvals integer not null default 0 check (approvals in (0, 1));

-- Change requests: changes of deployments that wait for, or had, the approval of another person.
create table change_requests (
  id text primary key,
  workspace_id text not null,
  deployment_id text not null,
  -- The operation that an approval performs, and its input as a JSON object.
  operation text not null,
  input text not null,
  -- What changes, in words.
  from_state text not null,
  to_state text not null,
  -- The version that was live, the one that the change serves to some or all, and the hash of its content.
  live_version integer not null,
  version integer,
  content_hash text,
  -- The deployment that the change is of. With another revision it is stale.
  revision integer not null,
  note text not null,
  source text not null,
  -- Who made it: a name, the person, and the token.
  requested_by text not null,
  owner text,
  token_id text,
  created_at integer not null,
  expires_at integer not null,
  state text not null check (state in ('open', 'applied', 'declined', 'withdrawn', 'expired', 'stale')),
  decided_by text,
  decider_owner text,
  decided_at integer,
  reason text,
  check ((state = 'open') = (decided_at is null)),
  check ((version is null) = (content_hash is null))
) strict;

-- A deployment has one open request at a time.
create unique index open_change_requests on change_requests (deployment_id) where state = 'open';

create index change_requests_by_workspace on change_requests (workspace_id, id);
