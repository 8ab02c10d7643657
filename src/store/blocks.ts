// Looking for the newest rows of a table whose indexes begin with the block of 256 positions that a row stands in: one
// block after the other, from the newest on, until enough rows are found. See sql/002-create-ledger.sql.

/**
 * A query for the positions of the newest rows (r) of a table that a condition holds for, below :before and at most
 * :limit of them. The condition compares columns that follow the block in an index.
 */
export const newestPositions = (table: "calls" | "diagnoses", condition: string): string => `
  with recursive block(number) as (
    select min(:before - 1, (select max(position) from ${table})) >> 8
    union all select number - 1 from block where number > 0
  )
  select position from (
    select r.position
    from block cross join ${table} r on r.position >> 8 = block.number and ${condition} and r.position < :before
    -- Within a block the rows are in no order, so the last block is taken whole before they are sorted.
    limit :limit + 255
  )
  order by position desc limit :limit`;

/** The commit (m) that a position lies in. */
export const commitAt = (position: string): string =>
  `commits m on m.position = (select max(position) from commits where position <= ${position})`;

/** The id of what stands at a position of its commit (m). */
export const idAt = (prefix: "call" | "diag", position: string): string =>
  `'${prefix}_' || m.id || printf('%02x', ${position} - m.position)`;
