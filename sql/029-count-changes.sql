-- Counts the changes of what the log has stored already: records that are deleted or indexed again, and the feedback on
-- records. A process keeps its sums of a part of the log until that part has changed. Appending to the log counts as none.
create table changed_blocks (
  -- 256 positions: the position of a record >> 8.
  number integer primary key,
  changes integer not null check (changes >= 1)
) strict;

-- A block without a row has never changed. Feedback that is removed with its record counts with that.
create trigger diagnoses_count_deletions after delete on diagnoses begin
  insert into changed_blocks (number, changes) values (old.position >> 8, 1)
  on conflict do update set changes = changes + 1; end;

create trigger diagnoses_count_updates after update on diagnoses begin
  insert into changed_blocks (number, changes) values (old.position >> 8, 1)
  on conflict do update set changes = changes + 1; end;
