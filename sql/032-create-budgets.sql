-- What happens without anybody doing it, and is said once: that a quota or a budget has reached a threshold, that a key will
-- expire, that upkeep fails. A row is written in one transaction with its entry of the audit log.
create table notices (
  -- What the entry says, as in `quota.reached`, and the id of what it is about.
  action text not null,
  subject text not null,
  -- What tells it from others about the same thing: a month, a threshold and a quota, or an expiry.
  fact text not null,
  workspace_id text,
  created_at integer not null,
  primary key (action, subject, fact)
) strict, without rowid;

-- Deleting a workspace removes its notices.
create index notices_by_workspace on notices (workspace_id);

-- Budgets: what the records of a workspace, of a prompt or of a key may cost in a day or a month before somebody is told.
create table budgets (
  id text primary key,
  workspace_id text not null,
  -- Null for records of all prompts, and of all keys.
  prompt_id text,
  key_id text,
  -- USD, a decimal text.
  amount text not null,
  per text not null check (per in ('day', 'month')),
  -- Percents in ascending order, as in `50,80,100`.
  thresholds text not null,
  created_at integer not null,
  -- When the amount or the thresholds were last set.
  changed_at integer not null,
  -- Up to which position of the log its records are counted, with which prices, as a hash, and how many submits its
  -- workspace had then. What is counted stands in budget_periods.
  counted integer not null default 0,
  prices text not null default '',
  submits integer not null default 0
) strict;

create index budgets_by_workspace on budgets (workspace_id, id);

-- What the records of a budget cost in a day or a month, as 2027-01-31 or 2027-01, in UTC.
create table budget_periods (
  budget_id text not null,
  period text not null,
  -- USD, a decimal text.
  cost text not null,
  records integer not null,
  -- How many of the records have no cost.
  unpriced integer not null,
  primary key (budget_id, period)
) strict, without rowid;

-- Find what expires soon.
create index api_keys_by_expiry on api_keys (expires_at) where expires_at is not null and revoked_at is null;

create index management_tokens_by_expiry on management_tokens (expires_at)
where expires_at is not null and revoked_at is null;
