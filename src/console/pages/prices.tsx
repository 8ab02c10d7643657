// The prices of models. They are the operator's own, and the cost of every record follows from them.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import type { PriceId } from "../../common/ids.ts";
import { listPrices, removePrice, setPrice } from "../../management/prices.ts";
import type { Price } from "../../management/prices.ts";
import { ago, price } from "../format.tsx";
import { Fragment, h, isolated } from "../html.ts";
import type { Html } from "../html.ts";
import { formValue, link, missingRole, queryValue } from "../page.ts";
import type { ConsoleRequest, Page } from "../page.ts";
import { Empty, Pager, Section, Table } from "../parts/elements.tsx";
import { Field, Form, given, Guarded, HiddenField } from "../parts/form.tsx";
import { momentOf } from "./inputs.tsx";

const pageSize = 100;

export const pricesPage: Page = {
  path: "/:workspaceId/prices",
  async show(visit) {
    const { items, nextCursor } = await visit.call(listPrices, {
      limit: pageSize,
      cursor: queryValue(visit, "cursor"),
    });
    return {
      title: "Prices",
      done: {
        stored: "The price is stored. Costs follow at once.",
        removed: "The price is removed. Costs follow at once.",
      },
      heading: "Prices",
      lede:
        "USD per million tokens, for all workspaces. Costs are computed when they are read, so that a corrected price corrects the past.",
      body: (
        <>
          {items.length === 0 ? noPrice : pricesTable(visit, items)}
          <Pager next={nextCursor} href={(cursor) => `?cursor=${cursor}`} />
          <Section title="Set a price">
            <Guarded visit={visit} operation={setPrice}>{newForm(visit)}</Guarded>
          </Section>
        </>
      ),
    };
  },
  async act(visit) {
    const id = formValue(visit, "remove") as PriceId | undefined;
    if (id !== undefined) await visit.call(removePrice, { id });
    else {
      await visit.call(setPrice, {
        model: formValue(visit, "model") ?? "",
        provider: formValue(visit, "provider"),
        input: formValue(visit, "input") ?? "",
        cachedInput: formValue(visit, "cachedInput"),
        output: formValue(visit, "output") ?? "",
        validFrom: momentOf(formValue(visit, "validFrom")),
      });
    }
    return { redirect: link(visit, ["prices"], { done: id === undefined ? "stored" : "removed" }) };
  },
};

const importing = <code>promptledger price import</code>;

const noPrice = (
  <Empty title="No price yet">
    Without prices, records have no cost unless they bring one. Set a price below, or import a list with {importing}.
  </Empty>
);

const pricesTable = (visit: ConsoleRequest, prices: readonly Price[]): Html => (
  <Table
    caption="Prices"
    rows={prices}
    columns={[
      { label: "Model", isHead: true, cell: ({ model }) => isolated(model) },
      { label: "Provider", cell: ({ provider }) => provider === "*" ? "Any provider" : isolated(provider) },
      { label: "Input", isNumber: true, cell: ({ input }) => price(input) },
      {
        label: "Cached input",
        isNumber: true,
        cell: ({ cachedInput }) => cachedInput === null ? "Same as input" : price(cachedInput),
      },
      { label: "Output", isNumber: true, cell: ({ output }) => price(output) },
      { label: "From", cell: ({ validFrom }) => validFrom === 0 ? "Always" : ago(validFrom, visit.now) },
      missingRole(visit, removePrice) === undefined && { label: "Remove", isAction: true, cell: removeForm },
    ]}
  />
);

/** Removing changes past costs, so the button stands below what it does. */
const removeForm = ({ id, model }: Price): Html => (
  <details>
    <summary>
      Remove
      <span class="hide">{` the price of ${model}`}</span>
    </summary>
    <p class="hint">Past and future costs of this model change at once, in all workspaces.</p>
    <form method="post">
      <HiddenField name="remove" value={id} />
      <button class="small danger">Remove the price</button>
    </form>
  </details>
);

const newForm = (visit: ConsoleRequest): Html => (
  <Form submit="Set price">
    <div class="row">
      <Field {...given(visit, "model", "Model")} isRequired placeholder="gpt-4o*" hint="* stands for any text." />
      <Field {...given(visit, "provider", "Provider")} hint="Any provider if empty." />
    </div>
    <div class="row">
      <Field {...given(visit, "input", "Input (USD)")} isRequired placeholder="0.15" />
      <Field {...given(visit, "cachedInput", "Cached input (USD)")} placeholder="Same as input" />
      <Field {...given(visit, "output", "Output (USD)")} isRequired placeholder="0.60" />
    </div>
    <Field
      {...given(visit, "validFrom", "From (UTC)")}
      type="datetime-local"
      hint="Always, if empty. A later price of the same model ends it."
    />
  </Form>
);
