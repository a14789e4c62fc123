import { useMemo } from "preact/hooks";
import type { Grant } from "turnpike/contracts";
import { place } from "../../shared/place.ts";
import { signal } from "@preact/signals";
import { CheckField } from "../../parts/check-field.tsx";
import { CopyText } from "../../parts/copy-text.tsx";
import { TextField } from "../../parts/fields.tsx";
import { PrincipalField } from "../../parts/principal-field.tsx";
import { type Draft, type DraftCapability, type DraftProblems, emptyCapability, grantOf } from "./draft.ts";

/** The drafts by purpose. A draft stays when a request fails, and while other screens are shown. */
const drafts = signal<Readonly<Record<string, Draft>>>({});

/** The draft for something: what was typed for it before, or a first one. */
export function useDraft(name: string, first: () => Draft) {
  const { tenant = "" } = place.value;
  const key = `${tenant} ${name}`;
  const initial = useMemo(first, [key]);
  const draft = drafts.value[key] ?? initial;
  const result = grantOf(draft, tenant, new Date());
  return {
    draft,
    /** The grant, once nothing is missing. */
    grant: "grant" in result ? result.grant : undefined,
    problems: "problems" in result ? result.problems : {},
    change(changes: Partial<Draft>): void {
      drafts.value = { ...drafts.value, [key]: { ...(drafts.value[key] ?? initial), ...changes } };
    },
    /** Begins anew, once it was issued. */
    clear(): void {
      drafts.value = Object.fromEntries(Object.entries(drafts.value).filter(([other]) => other !== key));
    },
  };
}

/** The fields of a grant. Of one that is derived the issuer is known. */
export function DraftFields({
  draft,
  problems,
  showsProblems,
  onChange,
}: {
  draft: Draft;
  problems: DraftProblems;
  /** Whether problems are shown. Before the operator sends the form, an empty field is no mistake. */
  showsProblems: boolean;
  onChange(changes: Partial<Draft>): void;
}) {
  const problem = (field: string, value: string): string | undefined =>
    showsProblems || value !== "" ? problems[field] : undefined;
  const isDerived = draft.parentId !== undefined;
  const changeCapability = (part: number, changes: Partial<DraftCapability>): void =>
    onChange({ capabilities: draft.capabilities.map((one, at) => (at === part ? { ...one, ...changes } : one)) });
  return (
    <>
      <div class="form row">
        <PrincipalField
          label="To: who may act"
          value={draft.subject}
          problem={problem("subject", showsProblems ? draft.subject : draft.subject.includes(":") ? draft.subject : "")}
          onChange={(subject) => onChange({ subject })}
          isRequired
        />
        {!isDerived && (
          <PrincipalField
            label="From: who grants it"
            value={draft.issuer}
            problem={problem("issuer", draft.issuer.includes(":") ? draft.issuer : "")}
            onChange={(issuer) => onChange({ issuer })}
            isRequired
          />
        )}
        <TextField
          label="Id"
          value={draft.id}
          problem={problem("id", draft.id)}
          onChange={(id) => onChange({ id })}
          isRequired
        />
      </div>
      {draft.capabilities.map((capability, part) => (
        <fieldset key={part}>
          <legend>{draft.capabilities.length === 1 ? "What" : `What, part ${part + 1}`}</legend>
          <div class="form row">
            <TextField
              label="Actions"
              value={capability.actions}
              problem={problem(`actions ${part}`, "")}
              hint="read, list; * is every action"
              onChange={(actions) => changeCapability(part, { actions })}
              isRequired
            />
            <TextField
              label="Resource"
              value={capability.resource}
              problem={problem(`resource ${part}`, "")}
              hint="namespace/path, such as files/notes"
              onChange={(resource) => changeCapability(part, { resource })}
              isRequired
            />
            <PrincipalField
              label="Whose (optional)"
              value={capability.owner}
              problem={problem(`owner ${part}`, capability.owner.includes(":") ? capability.owner : "")}
              hint="of the principal that the actor acts for, unless given"
              onChange={(owner) => changeCapability(part, { owner })}
            />
          </div>
          <CheckField
            label="This path only, nothing below it"
            isOn={capability.isExact}
            onChange={(isExact) => changeCapability(part, { isExact })}
          />
          <CheckField
            label="Ask each time: a person has to approve exactly that act"
            isOn={capability.asksEachTime}
            onChange={(asksEachTime) => changeCapability(part, { asksEachTime })}
          />
          {draft.capabilities.length > 1 && (
            <button
              type="button"
              class="button"
              onClick={() => onChange({ capabilities: draft.capabilities.filter((_, at) => at !== part) })}
            >
              Leave out part {part + 1}
            </button>
          )}
        </fieldset>
      ))}
      {!isDerived && (
        <button
          type="button"
          class="button more"
          onClick={() => onChange({ capabilities: [...draft.capabilities, emptyCapability] })}
        >
          Add another part
        </button>
      )}
      <div class="form row">
        <TextField
          label="Purposes (optional)"
          value={draft.purposes}
          hint="any, unless given; commas between them"
          onChange={(purposes) => onChange({ purposes })}
        />
        <TextField
          label="Ends (optional)"
          value={draft.expires}
          problem={problem("expires", draft.expires)}
          hint="1h, 7d, or a time"
          suggestions={["1h", "8h", "1d", "7d", "30d"]}
          onChange={(expires) => onChange({ expires })}
        />
        <TextField
          label="Uses (optional)"
          value={draft.uses}
          problem={problem("uses", draft.uses)}
          hint="not counted, unless given"
          onChange={(uses) => onChange({ uses })}
        />
        <TextField
          label="Passing on (optional)"
          value={draft.depth}
          problem={problem("depth", draft.depth)}
          hint="how many times in a row; 0 is not at all"
          onChange={(depth) => onChange({ depth })}
        />
      </div>
    </>
  );
}

/** The same grant for a script. */
export function GrantAsText({ grant }: { grant: Omit<Grant, "id" | "issuedAt"> & Partial<Grant> }) {
  return (
    <details class="as-text">
      <summary>The same as JSON</summary>
      <CopyText label="POST /admin/v1/grants" text={JSON.stringify(grant, undefined, 2)} />
    </details>
  );
}
