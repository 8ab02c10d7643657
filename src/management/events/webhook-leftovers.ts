// Unfinished work on many deliveries of a webhook that was deleted or switched off. The change itself does it for the
// first ones, and services for the others, a few in each transaction.
import type { WebhookId } from "../../common/ids.ts";
import type { Database, Statement } from "../../database/database.ts";
import { text } from "../../database/row.ts";
import { endOfTick } from "../../database/yielding.ts";

const slice = 1_000; // deliveries, which take some milliseconds

/** Removes deliveries of a webhook. */
const removeSome = (id: string): Statement => ({
  sql: `delete from webhook_deliveries where webhook_id = :id and number in (
      select number from webhook_deliveries where webhook_id = :id limit ${slice}
    )`,
  args: { id },
});

/** Ends deliveries of a webhook that are due. */
const stopSome = (id: string): Statement => ({
  sql: `update webhook_deliveries set due_at = null, outcome = 'stopped' where webhook_id = :id and number in (
      select number from webhook_deliveries where webhook_id = :id and due_at is not null order by number limit ${slice}
    ) returning 1`,
  args: { id },
});

/** Deletes a webhook with its first deliveries. `finishWebhooks` removes the others. */
export const deleteStatements = (id: WebhookId): Statement[] => [
  removeSome(id),
  {
    sql: `insert into deleted_webhooks (id, workspace_id)
      select id, workspace_id from webhooks w
      where id = :id and exists (select 1 from webhook_deliveries where webhook_id = w.id)`,
    args: { id },
  },
  { sql: "delete from webhook_secrets where webhook_id = ?", args: [id] },
  { sql: "delete from webhooks where id = ?", args: [id] },
];

/** Ends the first due deliveries of a webhook that is switched off. `finishWebhooks` ends the others. */
export const stopFirst: (id: WebhookId) => Statement = stopSome;

/** Ends all due deliveries of a webhook that is off, before it is switched on again. */
export async function stopAll(database: Database, id: WebhookId): Promise<void> {
  for (let isDone = false; !isDone;) {
    const [stopped] = await database.write([stopSome(id)]);
    isDone = stopped!.length < slice;
    await endOfTick();
  }
}

const isLeft = `select 1 from webhook_deliveries d where d.webhook_id = webhooks.id and due_at is not null`;
const unfinished = `
  select id, 1 as is_deleted from deleted_webhooks
  union all select id, 0 from webhooks where disabled_at is not null and exists (${isLeft}) limit 1`;

/** True if there is unfinished work. */
export const hasUnfinished = `exists (${unfinished})`;

const maxSlices = 8; // in a row. Other webhooks' due deliveries are sent between two looks

/** Continues deletions of webhooks, and stopping those that are switched off. */
export async function finishWebhooks(database: Database, isOver: () => boolean): Promise<void> {
  for (let slices = 0; slices < maxSlices && !isOver(); slices++) {
    const [row] = await database.read({ sql: unfinished });
    if (row === undefined) return;
    const id = text(row, "id");
    await database.write(
      row.is_deleted === 0 ? [stopSome(id)] : [removeSome(id), {
        sql: `delete from deleted_webhooks
          where id = :id and not exists (select 1 from webhook_deliveries where webhook_id = :id)`,
        args: { id },
      }],
    );
    await endOfTick();
  }
}
