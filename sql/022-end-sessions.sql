-- Sessions of the console that a person has signed out of, so that no process takes a copy of their cookie. All others are
-- cookies, not rows. A row may go once the session would have ended anyway.
create table ended_sessions (
  id text primary key,
  ends_at integer not null
) strict, without rowid;
