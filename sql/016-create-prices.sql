-- The operator's prices, by which the cost of records is computed when it is read. In USD per million tokens, as decimal
-- texts, so that no digit is lost.
create table prices (
  id text primary key,
  -- `*` for any provider. In the name of a model each `*` stands for any text.
  provider text not null,
  model text not null,
  input text not null,
  -- Null if cached input costs what other input does.
  cached_input text,
  output text not null,
  -- The first moment of the price, which ends where the next one of its provider and model begins.
  valid_from integer not null,
  created_at integer not null,
  unique (provider, model, valid_from)
) strict;
