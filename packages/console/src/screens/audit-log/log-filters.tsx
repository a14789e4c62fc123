import { fieldInstant, instantOf } from "../../shared/instants.ts";
import { addressOf, go, setQuery } from "../../shared/place.ts";
import { useTyped } from "../../shared/typed.ts";
import { Form, SelectField, TextField } from "../../parts/fields.tsx";
import { PrincipalField } from "../../parts/principal-field.tsx";
import { eventOutcomes, eventTypes, type LogFilter } from "./log-filter.ts";

/** The filters that are typed. */
const texts = ["text", "actor", "resource", "tool", "grant", "reason", "traceId"] as const;
type Texts = Record<(typeof texts)[number], string>;

/** Those that few search for: they are shown when asked for, or when one of them is set. */
const details = [
  { name: "resource", label: "Resource", hint: "and what is below it" },
  { name: "tool", label: "Tool" },
  { name: "grant", label: "Grant" },
  { name: "reason", label: "Reason" },
  { name: "traceId", label: "Trace" },
] as const;

/** Which rows to see. Choices count at once, texts when they are sent with Enter or left. */
export function LogFilters({ filter }: { filter: LogFilter }) {
  const asked = Object.fromEntries(texts.map((name) => [name, filter[name] ?? ""])) as Texts;
  const [typed, change] = useTyped(asked);
  const choose = (changes: LogFilter): void => setQuery({ ...changes, open: undefined });
  const send = (): void => {
    const wanted = Object.fromEntries(texts.map((name) => [name, typed[name].trim()])) as Texts;
    if (texts.some((name) => wanted[name] !== asked[name])) choose(wanted);
  };
  return (
    <Form label="Filter" isRow onSend={send} onLeave={send}>
      <TextField label="Text" type="search" value={typed.text} onChange={(text) => change({ text })} />
      <SelectField
        label="Outcome"
        value={filter.outcome ?? ""}
        options={[any, ...eventOutcomes]}
        onChange={(outcome) => choose({ outcome })}
      />
      <SelectField
        label="Type"
        value={filter.type ?? ""}
        options={[any, ...eventTypes]}
        onChange={(type) => choose({ type })}
      />
      <PrincipalField label="Actor" value={typed.actor} onChange={(text) => change({ actor: text })} />
      <TextField
        label="From"
        type="datetime-local"
        value={fieldInstant(filter.from)}
        onChange={(field) => choose({ from: instantOf(field) ?? "" })}
      />
      <TextField
        label="Until"
        type="datetime-local"
        value={fieldInstant(filter.until)}
        onChange={(field) => choose({ until: instantOf(field) ?? "" })}
      />
      <details class="folded" open={details.some(({ name }) => asked[name] !== "")}>
        <summary>By what it is about</summary>
        <div class="form row">
          {details.map(({ name, ...field }) => (
            <TextField key={name} {...field} value={typed[name]} onChange={(text) => change({ [name]: text })} />
          ))}
        </div>
      </details>
      <div class="actions">
        <button type="submit" class="button">
          Filter
        </button>
        {Object.keys(filter).length > 0 && (
          <button type="button" class="button" onClick={() => go(addressOf(["trail"]), "replace")}>
            Show all
          </button>
        )}
      </div>
    </Form>
  );
}

const any = { value: "", text: "any" };
