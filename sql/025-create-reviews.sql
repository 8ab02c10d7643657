-- Reviews: records that people judge one after the other. A review has the records that its filter found when it was made.

create table reviews (
  id text primary key,
  workspace_id text not null,
  title text not null,
  -- A JSON object with the filter as it was given.
  filter text not null,
  sequence text not null check (sequence in ('newest', 'random')),
  -- What a random sequence follows from. Null for another one.
  seed integer,
  -- A JSON array of the names under which to give feedback. It is empty if reviewers decide that.
  names text not null,
  -- How many records it was made with.
  records integer not null check (records >= 0),
  created_at integer not null,
  created_by text not null
) strict, without rowid;

create index reviews_by_workspace on reviews (workspace_id, id);

create table review_records (
  review_id text not null,
  ordinal integer not null,
  -- That of the record in the log.
  position integer not null,
  state text not null check (state in ('open', 'done', 'skipped')),
  -- Who has taken it last, and the id of their token, if they have one. Null if nobody has it.
  reviewer text,
  token_id text,
  -- Until then no other reviewer gets it.
  leased_until integer,
  finished_at integer,
  primary key (review_id, ordinal)
) strict, without rowid;

-- Counts the records of a review, and finds the next one.
create index review_records_by_state on review_records (review_id, state, ordinal, leased_until);

-- Finds those that reviewers have.
create index review_records_by_lease on review_records (review_id, leased_until) where leased_until is not null;

create unique index review_records_by_position on review_records (position, review_id);

-- A record leaves its reviews, whatever removes it.
create trigger diagnoses_leave_reviews after delete on diagnoses begin
  delete from review_records where position = old.position; end;
