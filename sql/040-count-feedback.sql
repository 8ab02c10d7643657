-- What statistics read of feedback: short rows of numbers, however long the names, authors, labels and comments are. Triggers
-- keep them, so that whatever changes feedback changes them in the same transaction.

-- The names of feedback and its labels, by numbers.
create table feedback_words (
  -- No number is used twice, since an answer is made of several queries.
  id integer primary key autoincrement,
  word text not null unique,
  -- How many pieces have the word as their name or as their label. Without any it goes.
  uses integer not null check (uses >= 1)
) strict;

-- How many pieces of feedback on a record have a value under a name.
create table feedback_counts (
  position integer not null,
  -- The number of the name in feedback_words.
  name_id integer not null,
  -- A number, 0 or 1 for a boolean, or the number of a label in feedback_words.
  value any not null,
  pieces integer not null check (pieces >= 1),
  primary key (position, name_id, value)
) strict, without rowid;

-- How many rows of earlier_feedback a record has. There are no rows of 0.
create table feedback_histories (
  position integer primary key,
  changes integer not null check (changes >= 1)
) strict;

-- Row by row, since a group of them would keep all texts in memory.
insert into feedback_words (word, uses)
select name, 1 from feedback where true
on conflict (word) do update set uses = uses + 1;

insert into feedback_words (word, uses)
select value, 1 from feedback where typeof(value) = 'text'
on conflict (word) do update set uses = uses + 1;

insert into feedback_counts (position, name_id, value, pieces)
select f.position, n.id, iif(
  typeof(f.value) = 'text', (select id from feedback_words where word = f.value), f.value
), 1
from feedback f cross join feedback_words n on n.word = f.name where true
on conflict do update set pieces = pieces + 1;

insert into feedback_histories (position, changes) select position, count(*) from earlier_feedback group by position;

create trigger feedback_add_count after insert on feedback begin
  insert into feedback_words (word, uses)
  select new.name, 1 union all select new.value, 1 where typeof(new.value) = 'text'
  on conflict (word) do update set uses = uses + 1; insert into feedback_counts (position, name_id, value, pieces)
  select new.position, id, iif(
    typeof(new.value) = 'text', (select id from feedback_words where word = new.value), new.value
  ), 1 from feedback_words where word = new.name
  on conflict do update set pieces = pieces + 1; end;

create trigger feedback_drop_count after delete on feedback begin
  delete from feedback_counts
  where position = old.position and name_id = (select id from feedback_words where word = old.name) and value = iif(
    typeof(old.value) = 'text', (select id from feedback_words where word = old.value), old.value
  ) and pieces = 1; update feedback_counts set pieces = pieces - 1
  where position = old.position and name_id = (select id from feedback_words where word = old.name) and value = iif(
    typeof(old.value) = 'text', (select id from feedback_words where word = old.value), old.value
  ); delete from feedback_words
  where word = old.name and uses = 1; update feedback_words set uses = uses - 1
  where word = old.name; delete from feedback_words
  where typeof(old.value) = 'text' and word = old.value and uses = 1; update feedback_words set uses = uses - 1
  where typeof(old.value) = 'text' and word = old.value; end;

-- The new one first, so that a word that stays keeps its number.
create trigger feedback_change_count after update of position, name, value on feedback
when (new.position, new.name, new.value) is not (old.position, old.name, old.value) begin
  insert into feedback_words (word, uses)
  select new.name, 1 union all select new.value, 1 where typeof(new.value) = 'text'
  on conflict (word) do update set uses = uses + 1; insert into feedback_counts (position, name_id, value, pieces)
  select new.position, id, iif(
    typeof(new.value) = 'text', (select id from feedback_words where word = new.value), new.value
  ), 1 from feedback_words where word = new.name
  on conflict do update set pieces = pieces + 1; delete from feedback_counts
  where position = old.position and name_id = (select id from feedback_words where word = old.name) and value = iif(
    typeof(old.value) = 'text', (select id from feedback_words where word = old.value), old.value
  ) and pieces = 1; update feedback_counts set pieces = pieces - 1
  where position = old.position and name_id = (select id from feedback_words where word = old.name) and value = iif(
    typeof(old.value) = 'text', (select id from feedback_words where word = old.value), old.value
  ); delete from feedback_words
  where word = old.name and uses = 1; update feedback_words set uses = uses - 1
  where word = old.name; delete from feedback_words
  where typeof(old.value) = 'text' and word = old.value and uses = 1; update feedback_words set uses = uses - 1
  where typeof(old.value) = 'text' and word = old.value; end;

create trigger earlier_feedback_add_change after insert on earlier_feedback begin
  insert into feedback_histories (position, changes) values (new.position, 1)
  on conflict do update set changes = changes + 1; end;

create trigger earlier_feedback_drop_change after delete on earlier_feedback begin
  delete from feedback_histories where position = old.position and changes = 1; update feedback_histories
  set changes = changes - 1 where position = old.position; end;
