-- A secret of the database, which all services on it share. With it they encrypt what a caller may hold but not read: positions
-- of the log, which all workspaces share, would tell one workspace how much the others use the service.
create table service_secret (
  id integer primary key check (id = 1),
  -- 256 random bits in hexadecimal.
  secret text not null check (length(secret) = 64)
) strict;

insert into service_secret (id, secret) values (1, lower(hex(randomblob(32))));
