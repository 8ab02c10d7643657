// The prices of models. They are the operator's own, and the cost of every record follows from them.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import type { PriceId } from "../../common/ids.ts";
import { listPrices, removePrice, setPrice } from "../../management/prompts/prices.ts";
import type { Price } from "../../management/prompts/prices.ts";
import { readTier, tierText } from "../../management/prompts/price-tiers.ts";
import { ago, price } from "../frame/format.tsx";
import { Fragment, h, isolated } from "../frame/html.ts";
import type { Html } from "../frame/html.ts";
import { formValue, link, missingRole, queryValue } from "../frame/page.ts";
import type { ConsoleRequest, Page } from "../frame/page.ts";
import { Empty, Pager, Section, Table } from "../frame/elements.tsx";
import { Area, Field, Form, given, Guarded, HiddenField } from "../frame/form.tsx";
import { linesIn, momentOf } from "../frame/inputs.tsx";

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
        cacheWrite: formValue(visit, "cacheWrite"),
        cacheWriteHour: formValue(visit, "cacheWriteHour"),
        output: formValue(visit, "output") ?? "",
        tiers: linesIn(formValue(visit, "tiers"))?.map(readTier),
        unpricedMedia: formValue(visit, "unpricedMedia")?.split(/[\s,]+/) as Price["unpricedMedia"] | undefined,
        validFrom: momentOf(formValue(visit, "validFrom"), "validFrom"),
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
      { label: "Model", isHead: true, cell: modelOf },
      { label: "Provider", cell: ({ provider }) => provider === "*" ? "Any provider" : isolated(provider) },
      { label: "Input", isNumber: true, cell: ({ input }) => price(input) },
      {
        label: "Cached input",
        isNumber: true,
        cell: ({ cachedInput }) => cachedInput === null ? "Same as input" : price(cachedInput),
      },
      {
        label: "Cache write",
        isNumber: true,
        cell: ({ cacheWrite }) => cacheWrite === null ? "Same as input" : price(cacheWrite),
      },
      {
        label: "For an hour",
        isNumber: true,
        cell: ({ cacheWriteHour }) => cacheWriteHour === null ? "Same as cache write" : price(cacheWriteHour),
      },
      { label: "Output", isNumber: true, cell: ({ output }) => price(output) },
      { label: "From", cell: ({ validFrom }) => validFrom === 0 ? "Always" : ago(validFrom, visit.now) },
      missingRole(visit, removePrice) === undefined && { label: "Remove", isAction: true, cell: removeForm },
    ]}
  />
);

/** A model, with what its price is not for, and its other prices. */
const modelOf = ({ model, tiers, unpricedMedia }: Price): Html => (
  <>
    {isolated(model)}
    {tiers.map((tier) => <p class="hint">{tierText(tier)}</p>)}
    {unpricedMedia.length > 0 && <p class="hint">Not for {unpricedMedia.join(", ")}</p>}
  </>
);

/** Removing changes past costs, so the button is below an explanation. */
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
      <Field {...given(visit, "model", "Model")} isRequired placeholder="gpt-6-luna*" hint="* stands for any text." />
      <Field {...given(visit, "provider", "Provider")} hint="Any provider if empty." />
    </div>
    <div class="row">
      <Field {...given(visit, "input", "Input (USD)")} isRequired placeholder="0.15" />
      <Field {...given(visit, "cachedInput", "Cached input (USD)")} placeholder="Same as input" />
      <Field {...given(visit, "output", "Output (USD)")} isRequired placeholder="0.60" />
    </div>
    <div class="row">
      <Field {...given(visit, "cacheWrite", "Cache write (USD)")} placeholder="Same as input" />
      <Field {...given(visit, "cacheWriteHour", "Cache write for an hour (USD)")} placeholder="Same as cache write" />
      <Field
        {...given(visit, "unpricedMedia", "Not for")}
        placeholder="audio, image"
        hint="Records with such tokens have no cost by this price."
      />
    </div>
    <Area
      {...given(visit, "tiers", "Other prices, one per line")}
      isCode
      placeholder="above=200000 input=4 cached-input=0.4 output=12"
      hint="For requests with more input tokens, or at hours=01:00-04:00 in UTC. The last one that holds counts."
    />
    <Field
      {...given(visit, "validFrom", "From (UTC)")}
      type="datetime-local"
      hint="Always, if empty. A later price of the same model ends it."
    />
  </Form>
);
