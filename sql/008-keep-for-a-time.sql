-- How long a workspace keeps its records, and its calls with their records, in milliseconds; null for ever.
alter table workspaces add column keep_records_ms integer check (keep_records_ms >= 86400000);
alter table workspaces add column keep_calls_ms integer check (keep_calls_ms >= 86400000);

-- The one row is the lease of the upkeep that services do in the background, so that one of them does it at a time.
create table upkeep (
  id integer primary key check (id = 1),
  -- Who does it, or did it last.
  holder text not null,
  -- Until then no one else begins.
  expires_at integer not null
) strict;

insert into upkeep (id, holder, expires_at) values (1, '', 0);
