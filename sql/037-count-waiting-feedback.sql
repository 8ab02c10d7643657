-- How much feedback of a workspace waits for its records. The room for it is bounded, and to count it takes as long as there is
-- of it. A piece takes a place, and one more for each 256 bytes of its texts.
alter table waiting_feedback add column places integer generated always as (
  1 + (octet_length(comment) + octet_length(author) + iif(typeof(value) = 'text', octet_length(value), 0)) / 256
) virtual;

-- A workspace of which nothing waits has no row.
create table waiting_counts (
  workspace_id text primary key,
  places integer not null check (places > 0)
) strict, without rowid;

insert into waiting_counts (workspace_id, places)
select workspace_id, sum(places) from waiting_feedback group by workspace_id;

create trigger waiting_feedback_count_added after insert on waiting_feedback begin
  insert into waiting_counts (workspace_id, places) values (new.workspace_id, new.places)
  on conflict do update set places = places + excluded.places; end;

create trigger waiting_feedback_count_changed after update on waiting_feedback begin
  update waiting_counts set places = places + new.places - old.places where workspace_id = new.workspace_id; end;

create trigger waiting_feedback_count_removed after delete on waiting_feedback begin
  delete from waiting_counts where workspace_id = old.workspace_id and places = old.places; update waiting_counts
  set places = places - old.places where workspace_id = old.workspace_id; end;

-- Finds what a workspace has waiting for too long.
drop index waiting_feedback_by_age;

create index waiting_feedback_by_age on waiting_feedback (workspace_id, given_at);

-- A record takes what waits for it, but not what has waited for more than two days. With the sign, SQLite does not look that up by
-- its time instead of by its key.
drop trigger idempotency_keys_take_feedback;

create trigger idempotency_keys_take_feedback after insert on idempotency_keys begin
  insert into feedback (position, name, author, value, comment, source, given_at, change)
  select d.position, w.name, w.author, w.value, w.comment, w.source, w.given_at, 1
  from waiting_feedback w
  cross join commits m on m.id = substr(new.record_id, 6, 24)
  cross join diagnoses d on d.position = m.position
    + 16 * (instr('0123456789abcdef', substr(new.record_id, 30, 1)) - 1)
    + instr('0123456789abcdef', substr(new.record_id, 31, 1)) - 1
  where w.workspace_id = new.workspace_id and w.key = new.key and +w.given_at >= new.created_at - 172800000
    and (w.deployment_id is null or w.deployment_id = d.deployment_id)
  on conflict do nothing; delete from waiting_feedback where workspace_id = new.workspace_id and key = new.key; end;
