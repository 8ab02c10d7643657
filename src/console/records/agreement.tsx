// Agreement of two authors of feedback under a name, on the records that both judged.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { invalidField } from "../../common/errors.ts";
import { readFeedbackAgreement } from "../../management/feedback/feedback-agreement.ts";
import type { FeedbackAgreement } from "../../management/feedback/feedback-agreement.ts";
import { listFeedbackNames } from "../../management/terms/feedback-names.ts";
import { dash, number, rounded, share } from "../frame/format.tsx";
import { Fragment, h, isolated } from "../frame/html.ts";
import type { Html } from "../frame/html.ts";
import { queryValue, workspaceOf } from "../frame/page.ts";
import type { Page } from "../frame/page.ts";
import { Empty, Fact, Facts } from "../frame/elements.tsx";
import { NameField, noFeedback } from "./feedback-figures.tsx";
import { Field, Filters, Select } from "../frame/form.tsx";
import { DeploymentField, findDeployment, findOffered, findWith, spanOf, spanOptions } from "../frame/inputs.tsx";
import { filterNotice } from "./record-filter.tsx";

export const agreementPage: Page = {
  path: "/:workspaceId/agreement",
  async show(visit) {
    const { id: workspaceId } = workspaceOf(visit), ref = queryValue(visit, "deployment");
    const [{ names }, offered, deployment] = await Promise.all([
      visit.call(listFeedbackNames, { workspaceId }),
      findOffered(visit, true),
      ref === undefined ? undefined : findDeployment(visit, ref),
    ]);
    const name = queryValue(visit, "name"),
      authors = [queryValue(visit, "first") ?? "", queryValue(visit, "second") ?? ""];
    const isAsked = visit.query.has("first") && name !== undefined;
    const { found, refusal } = await findWith(async () => {
      if (ref !== undefined && deployment === undefined) {
        throw invalidField("deployment", `There is no deployment ${ref} in this workspace`);
      }
      const range = spanOf(visit);
      if (!isAsked) return undefined;
      if (authors.some((author) => author.includes(","))) {
        throw invalidField("authors", "An author must not have a comma");
      }
      if (authors[0] === authors[1]) throw invalidField("authors", "The two authors must differ");
      const asking = { workspaceId, deployId: deployment?.id, name, authors: authors.join(","), ...range };
      return await visit.call(readFeedbackAgreement, asking);
    });
    return {
      title: "Agreement",
      ...refusal && { kind: refusal.kind },
      heading: "Agreement of two authors",
      lede: "How far two people or programs agree on the records that both judged.",
      body: (
        <>
          {names.length === 0 ? noFeedback : (
            <Filters submit="Compare">
              <NameField names={names.map(({ name }) => name)} value={name} />
              <Field label="First author" name="first" value={authors[0]} />
              <Field label="Second author" name="second" value={authors[1]} />
              <DeploymentField value={deployment ?? ref} offered={offered} />
              <Select label="Time" name="last" value={queryValue(visit, "last")} options={spanOptions} />
            </Filters>
          )}
          {refusal !== undefined && filterNotice(refusal)}
          {found !== undefined && agreementOf(found, authors)}
          {names.length > 0 && found === undefined && refusal === undefined && (
            <p class="hint">
              Enter two authors as the pieces of feedback name them. Leave one empty for feedback without an author.
            </p>
          )}
        </>
      ),
    };
  },
};

function agreementOf({ name, records, agreed, kappa }: FeedbackAgreement, authors: readonly string[]): Html {
  if (records === 0) {
    return <Empty title="No common record">There is no record that both judged under {isolated(name)}.</Empty>;
  }
  const [one, other] = authors.map((author) => author === "" ? "feedback without an author" : isolated(author));
  return (
    <>
      <Facts>
        <Fact label="Cohen's kappa">{kappa === null ? dash : rounded(kappa)}</Fact>
        <Fact label="Records that both judged">{number(records)}</Fact>
        <Fact label="With the same value">{number(agreed)} ({share(agreed / records)})</Fact>
      </Facts>
      <p class="hint">
        {name}, judged by {one} and {other}. {kappa === null
          ? "Kappa is not defined, because both gave one and the same value alone."
          : "Kappa is 1 for full agreement and 0 for that of chance. Each number is a category of its own."}
      </p>
    </>
  );
}
