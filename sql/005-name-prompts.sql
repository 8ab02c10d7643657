-- Names: a prompt's is unique in its workspace, a deployment's is unique among those of its prompt. Together they make a
-- reference, `NAME@DEPLOYMENT`, which stands wherever a deployment's id does.

-- Lower-case segments of letters, digits, `.`, `_` and `-`, separated by `/`; at most 200 characters.
alter table prompts add column name text not null default '';

-- An archived prompt or deployment is hidden from lists and refused to clients. Its name stays taken.
alter table prompts add column archived_at integer;
alter table deployments add column archived_at integer;
-- The same moment as the prompt's, kept here too, so that a request need not look at the prompt.
alter table deployments add column prompt_archived_at integer;

-- Existing prompts get names from the titles of their newest versions, existing deployments from what they were called.
create table new_names (
  id text primary key,
  -- In what a name is unique: a workspace or a prompt.
  scope text not null,
  slug text not null,
  -- Counts those of the same slug in the same scope, from 1.
  nth integer not null
) strict;

insert into new_names (id, scope, slug, nth)
with recursive letter(id, scope, rest, slug) as (
  select p.id, p.workspace_id, lower(substr(v.title, 1, 150)), ''
  from prompts p join prompt_versions v on v.prompt_id = p.id
    and v.version = (select max(version) from prompt_versions where prompt_id = p.id)
  union all
  select id, prompt_id, lower(substr(name, 1, 70)), '' from deployments
  union all
  select id, scope, substr(rest, 2), slug || case
      when substr(rest, 1, 1) glob '[a-z0-9._-]' then substr(rest, 1, 1)
      when slug = '' or slug glob '*-' then ''
      else '-'
    end
  from letter where rest <> ''
),
slugs as (
  select id, scope, coalesce(nullif(trim(slug, '-.'), ''), iif(id like 'dep%', 'deployment', 'prompt')) as slug
  from letter where rest = ''
)
select id, scope, slug, row_number() over (partition by scope, slug order by id) from slugs;

create index new_names_by_slug on new_names (scope, slug);

-- The first of a slug gets it as its name, the others a number behind it, or their ids where that is taken.
create table final_names (id text primary key, name text not null) strict;

insert into final_names (id, name)
select id, case
    when nth = 1 then slug
    when not exists (select 1 from new_names o where o.scope = n.scope and o.slug = n.slug || '-' || n.nth)
      then slug || '-' || nth
    else slug || '-' || lower(substr(id, instr(id, '_') + 1))
  end
from new_names n;

update prompts set name = (select name from final_names f where f.id = prompts.id);

insert into deployment_changes
  (deployment_id, revision, action, from_value, to_value, source, actor, note, created_at)
select d.id, d.revision + 1, 'renamed', json_quote(d.name), json_quote(f.name), 'command line', '',
  'Deployment names became lower-case and unique for each prompt', max(d.created_at, unixepoch() * 1000)
from deployments d join final_names f on f.id = d.id and f.name <> d.name;

update deployments set name = f.name, revision = revision + 1
from final_names f where f.id = deployments.id and f.name <> deployments.name;

drop table new_names;

drop table final_names;

create unique index prompts_by_name on prompts (workspace_id, name);

create unique index deployments_by_name on deployments (prompt_id, name);

-- A column `notice` is shown to whoever migrates.
select 'Named ' || total || ' prompts after their titles. See prompt list and prompt rename' as notice
from (select count(*) as total from prompts) where total > 0;

select 'Renamed ' || total || ' deployments, since names are now lower-case and unique for each prompt. See deploy history'
  as notice
from (
  select count(*) as total from deployment_changes
  where action = 'renamed' and note = 'Deployment names became lower-case and unique for each prompt'
) where total > 0;
