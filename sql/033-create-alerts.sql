-- Alerts: conditions on the records or the calls of a time, such as `failures>5%`. A service checks each once a minute.

create table alerts (
  id text primary key,
  workspace_id text not null,
  -- What it watches: a deployment, a prompt, or without either the whole workspace.
  deployment_id text,
  prompt_id text,
  condition text not null,
  over_ms integer not null,
  -- How many records the condition needs. Null if it needs none.
  at_least integer,
  -- How long the condition must not hold before the alert resolves.
  keep_firing_ms integer not null,
  created_at integer not null,
  -- When its condition was set.
  changed_at integer not null,
  mute_ends_at integer,
  state text not null check (state in ('ok', 'firing', 'no_data')),
  -- When it got this state.
  state_at integer not null,
  -- Since when the condition of an alert that fires does not hold.
  clear_at integer,
  -- What the last check found.
  value real,
  records integer,
  checked_at integer,
  -- How often a check began or the condition was set. Only the last check stores what it finds.
  turn integer not null,
  check (deployment_id is null or prompt_id is null)
) strict;

create index alerts_by_workspace on alerts (workspace_id, id);

create index firing_alerts on alerts (id) where state = 'firing';
