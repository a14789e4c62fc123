import { fieldMoment, momentOf } from "../../base/moments.ts";
import { addressOf, go, setQuery } from "../../base/place.ts";
import { useTyped } from "../../base/typed.ts";
import { Form, SelectField, TextField } from "../../parts/fields.tsx";
import { PrincipalField } from "../../parts/principal-field.tsx";
import { eventOutcomes, eventTypes, type TrailFilter } from "./trail-filter.ts";

/** Which rows to see. Choices count at once, texts when they are sent with Enter or left. */
export function TrailFilters({ filter }: { filter: TrailFilter }) {
  const { actor = "", traceId = "" } = filter;
  const [typed, change] = useTyped({ actor, traceId });
  const send = (): void => {
    const wanted = { actor: typed.actor.trim(), traceId: typed.traceId.trim() };
    if (wanted.actor !== actor || wanted.traceId !== traceId) setQuery({ ...wanted, open: undefined });
  };
  const choose = (changes: TrailFilter): void => setQuery({ ...changes, open: undefined });
  return (
    <Form label="Filter" isRow onSend={send} onLeave={send}>
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
      <TextField label="Trace" value={typed.traceId} onChange={(text) => change({ traceId: text })} />
      <TextField
        label="From"
        type="datetime-local"
        value={fieldMoment(filter.from)}
        onChange={(field) => choose({ from: momentOf(field) ?? "" })}
      />
      <TextField
        label="Until"
        type="datetime-local"
        value={fieldMoment(filter.until)}
        onChange={(field) => choose({ until: momentOf(field) ?? "" })}
      />
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
