-- When the first period that is counted of a budget began, in Unix ms. A clock that was ahead has left out what came before.
alter table budgets add column counted_since integer not null default 0;
