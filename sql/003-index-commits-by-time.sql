-- Finds the blocks of 4096 positions in which commits of a time range begin. Clocks differ and step, so that the times of the
-- commits are in no order.
create index commits_by_time on commits (position >> 12, created_at);
