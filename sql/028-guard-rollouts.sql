-- A guard stops a rollout whose records show that the candidate is worse than a limit.

-- Conditions such as `failures=+2%,p95=+20%`, or null without a guard.
alter table rollouts add column guard text;

-- How certain the records must make it, in percent.
alter table rollouts add column certain real check (certain >= 50 and certain < 100);

-- When a service last began to check it. Services that share a database take turns.
alter table rollouts add column checked_at integer;
