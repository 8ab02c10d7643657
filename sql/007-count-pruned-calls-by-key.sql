-- Counts of pruned calls and their records, as pruned_usage had them, but by key and deployment too. Pruning removes the oldest
-- calls of a workspace first, so these are the first calls of a month.
create table pruned_calls (
  workspace_id text not null,
  month text not null,
  -- Both are empty for what was pruned before they were counted.
  api_key_id text not null,
  deployment_id text not null,
  reads integer not null check (reads >= 0),
  submits integer not null check (submits >= 0),
  primary key (workspace_id, month, api_key_id, deployment_id)
) strict, without rowid;

insert into pruned_calls (workspace_id, month, api_key_id, deployment_id, reads, submits)
select workspace_id, month, '', '', reads, submits from pruned_usage;

drop table pruned_usage;

-- How far each workspace is pruned. Whoever counts the log while it is pruned reads here what has changed meanwhile.
create table prunings (
  workspace_id text primary key,
  -- The log has no call of the workspace before this position.
  position integer not null,
  -- No call of the workspace before this position has a record.
  records_position integer not null,
  -- Rises with every transaction that prunes calls, of whichever workspace.
  sequence integer not null
) strict, without rowid;

create index prunings_by_sequence on prunings (sequence);
