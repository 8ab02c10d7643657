// The reviews of a workspace, and the form that creates one of the records that a filter finds.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { listFeedbackNames } from "../../management/terms/feedback-names.ts";
import type { Review } from "../../management/feedback/review-progress.ts";
import { listWorkspaceDiagnoses } from "../../management/records/records.ts";
import { createReview, listReviews } from "../../management/feedback/reviews.ts";
import { personName } from "./feedback.ts";
import { ago, number } from "../frame/format.tsx";
import { Fragment, h, isolated } from "../frame/html.ts";
import type { Html } from "../frame/html.ts";
import { formValue, link, missingRole, queryOf, queryValue, workspaceOf } from "../frame/page.ts";
import type { ConsoleRequest, Page } from "../frame/page.ts";
import { Empty, Pager, Table } from "../frame/elements.tsx";
import { Checkbox, Field, Form, given, Guarded, Select } from "../frame/form.tsx";
import { actorOf, filterChips, progressText } from "./review-parts.tsx";
import { findWith, numberIn } from "../frame/inputs.tsx";
import { filterNotice, workspaceFilterIn } from "./record-filter.tsx";

const pageSize = 50;

export const reviewsPage: Page = {
  path: "/:workspaceId/reviews",
  async show(visit) {
    const { id: workspaceId } = workspaceOf(visit);
    const page = { limit: pageSize, cursor: queryValue(visit, "cursor") };
    const { items, nextCursor } = await visit.call(listReviews, { workspaceId, ...page });
    return {
      title: "Reviews",
      done: { deleted: "The review is deleted. Feedback that was given in it stays." },
      heading: "Reviews",
      lede: "Records to judge one after the other, alone or together.",
      actions: missingRole(visit, createReview) === undefined && (
        <a class="button primary" href={link(visit, ["records"])}>Choose records</a>
      ),
      body: (
        <>
          {items.length === 0 ? noReview : reviewsTable(visit, items)}
          <Pager next={nextCursor} href={(cursor) => `?cursor=${cursor}`} />
        </>
      ),
    };
  },
};

const noReview = (
  <Empty title="No review yet">
    Filter the records that someone should judge, and choose “Review these” above them.
  </Empty>
);

const reviewsTable = (visit: ConsoleRequest, reviews: readonly Review[]): Html => (
  <Table
    caption="Reviews"
    rows={reviews}
    columns={[
      {
        label: "Title",
        isHead: true,
        cell: ({ id, title }) => <a href={link(visit, ["reviews", id])}>{isolated(title)}</a>,
      },
      { label: "Progress", cell: progressText },
      { label: "Taken", isNumber: true, cell: ({ taken }) => number(taken) },
      { label: "Skipped", isNumber: true, cell: ({ skipped }) => number(skipped) },
      { label: "Created by", cell: ({ createdBy }) => isolated(personName(createdBy)) },
      { label: "Created", cell: ({ createdAt }) => ago(createdAt, visit.now) },
    ]}
  />
);

const orders = [["newest", "Newest first"], ["random", "At random"]] as const;

export const newReviewPage: Page = {
  path: "/:workspaceId/reviews/new",
  async show(visit) {
    const { found, refusal } = await findWith(async () => {
      const filter = await workspaceFilterIn(visit);
      // Shows refusals of the operation before someone fills in the form.
      await visit.call(listWorkspaceDiagnoses, { ...filter, limit: 1 });
      return filter;
    });
    const { names } = await visit.call(listFeedbackNames, { workspaceId: workspaceOf(visit).id });
    const { workspaceId: _, ...filter } = found ?? {};
    return {
      title: "New review",
      ...refusal && { kind: refusal.kind },
      heading: "New review",
      lede: "It has the records that the filter finds now. Records that come later are not in it.",
      body: (
        <>
          {refusal === undefined ? await filterChips(visit, filter) : filterNotice(refusal)}
          <p>
            <a href={link(visit, ["records"], queryOf(visit))}>Change the filter</a>
          </p>
          <Guarded visit={visit} operation={createReview}>{newForm(visit, names.map(({ name }) => name))}</Guarded>
        </>
      ),
    };
  },
  async act(visit) {
    const names = (formValue(visit, "names") ?? "").split(/[\s,]+/).filter((name) => name !== "");
    const { id } = await visit.call(createReview, {
      ...await workspaceFilterIn(visit),
      title: formValue(visit, "title") ?? "",
      records: numberIn(visit, "records"),
      order: formValue(visit, "order") as "newest" | "random" | undefined,
      withoutOwn: formValue(visit, "withoutOwn") === "yes" || undefined,
      ...names.length > 0 && { names },
      actor: actorOf(visit),
    });
    return { redirect: link(visit, ["reviews", id], { done: "created" }) };
  },
};

const newForm = (visit: ConsoleRequest, names: readonly string[]): Html => (
  <Form submit="Create review">
    <Field {...given(visit, "title", "Title")} isRequired hint="What people call it." />
    <div class="row">
      <Field {...given(visit, "records", "Records at most", 100)} type="number" hint="Up to 10,000." />
      <Select {...given(visit, "order", "Order")} options={orders} />
    </div>
    <Field
      {...given(visit, "names", "Feedback to give")}
      placeholder={names.slice(0, 3).join(", ")}
      hint="Names, separated by commas. Feedback under all of them finishes a record. If empty, reviewers decide."
    />
    <Checkbox
      label="Leave out records that I have given feedback"
      name="withoutOwn"
      isChecked={visit.form.has("withoutOwn")}
    />
  </Form>
);
