-- Webhooks: addresses to which a service sends events. The audit log has the events; only where each webhook is stands here.

create table webhooks (
  id text primary key,
  -- Whose events it gets. Null for those of all workspaces.
  workspace_id text,
  -- All of it, which may be a secret, and its origin, which is none.
  url text not null,
  address text not null,
  -- Types of events, as in `deployment.*,key.created`. Null for all.
  events text,
  format text not null check (format in ('standard', 'github', 'slack')),
  -- The token that the receiver asks for.
  credential text,
  created_at integer not null,
  -- Until when the previous secrets sign too.
  overlap_ends_at integer,
  -- Up to where in the audit log its events have become deliveries, or were passed over.
  seen integer not null,
  -- One process sends to it at a time.
  leased_until integer not null default 0,
  -- Until when the receiver asked to be left alone.
  paused_until integer not null default 0,
  last_success_at integer,
  disabled_at integer,
  disabled_reason text check (disabled_reason in ('user', 'gone', 'failing')),
  check ((disabled_at is null) = (disabled_reason is null)),
  check ((format = 'github') = (credential is not null))
) strict;

create index webhooks_by_workspace on webhooks (workspace_id, id);

-- What signs. While a secret is rotated there are several.
create table webhook_secrets (
  webhook_id text not null,
  secret text not null,
  expires_at integer,
  primary key (webhook_id, secret)
) strict;

create table webhook_deliveries (
  webhook_id text not null,
  -- From 1, in the order of the events.
  number integer not null,
  event_id text not null,
  type text not null,
  -- The event as it was, in JSON.
  event text not null,
  created_at integer not null,
  -- When the next attempt is due, 0 for a first one; null once there is no other.
  due_at integer,
  attempts integer not null default 0,
  outcome text check (outcome in ('delivered', 'failed', 'stopped')),
  -- The last attempt: when it began, and the status and the beginning of the response, or why there was none.
  last_at integer,
  status integer,
  response text,
  error text,
  duration_ms integer,
  primary key (webhook_id, number),
  check ((due_at is null) = (outcome is not null))
) strict;

create index due_deliveries on webhook_deliveries (due_at) where due_at is not null;

create index due_deliveries_by_webhook on webhook_deliveries (webhook_id, number) where due_at is not null;

create index deliveries_by_time on webhook_deliveries (created_at);
