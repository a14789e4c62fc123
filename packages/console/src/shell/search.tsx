import { useEffect, useRef, useState } from "preact/hooks";
import { request } from "../shared/api.ts";
import { useLoad } from "../shared/load.ts";
import { go, place } from "../shared/place.ts";
import { useSettled } from "../shared/settled.ts";
import { Dialog } from "../parts/dialog.tsx";
import { ForeignText } from "../parts/foreign-text.tsx";
import { Problem } from "../parts/states.tsx";
import { foundAddress } from "./found-address.ts";

/** Letters that are typed quickly become one request. */
const settleMs = 250;

/** Finds anything of the tenant by a part of its name. Arrows walk what was found, and Enter goes there. */
export function Search({ onClose }: { onClose(): void }) {
  const { tenant = "" } = place.value;
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const settled = useSettled(text.trim(), settleMs);
  const loaded = useLoad(
    async (signal) =>
      settled === "" ? undefined : await request("search", { namespaceId: tenant, text: settled }, signal),
    [tenant, settled],
  );
  const { value: answer, problem } = loaded;
  const found = answer?.found ?? [];
  const current = Math.min(chosen, found.length - 1);
  const open = (at: number): void => {
    const one = found[at];
    if (one === undefined) return;
    onClose();
    go(foundAddress(one));
  };
  const walk = (event: KeyboardEvent): void => {
    if (event.isComposing) return;
    if (event.key === "ArrowDown") setChosen(Math.min(current + 1, found.length - 1));
    else if (event.key === "ArrowUp") setChosen(Math.max(current - 1, 0));
    else if (event.key === "Enter") open(current);
    // A browser would empty the field first.
    else if (event.key === "Escape") onClose();
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Find" onClose={onClose}>
      <div class="field">
        <input
          type="search"
          aria-label="A name, an id, or a part of one"
          placeholder="A name, an id, or a part of one"
          role="combobox"
          aria-expanded={found.length > 0}
          aria-controls="found"
          aria-activedescendant={current >= 0 ? `found-${current}` : undefined}
          autocomplete="off"
          spellcheck={false}
          maxLength={512}
          value={text}
          ref={field}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setChosen(0);
          }}
          onKeyDown={walk}
        />
      </div>
      {problem !== undefined && <Problem text={problem} again={loaded.reload} />}
      <div id="found" class="found" role="listbox" aria-label="What was found">
        {found.map((one, at) => (
          <a
            key={`${one.kind} ${one.id} ${one.about ?? ""}`}
            id={`found-${at}`}
            role="option"
            tabIndex={-1}
            aria-selected={at === current}
            href={foundAddress(one)}
            onClick={(event) => {
              if (event.metaKey || event.ctrlKey || event.shiftKey) return;
              event.preventDefault();
              open(at);
            }}
          >
            <span class="found-kind">{one.kind === "escalation" ? "question" : one.kind}</span>
            <span class="clip">
              <ForeignText text={one.id} />
            </span>
            {one.about !== undefined && (
              <span class="hint clip">
                <ForeignText text={one.about} />
              </span>
            )}
          </a>
        ))}
      </div>
      <p class="hint" role="status">
        {statusText(settled, loaded.isLoading, found.length, answer?.isPartial === true)}
      </p>
    </Dialog>
  );
}

function statusText(text: string, isLoading: boolean, count: number, isPartial: boolean): string {
  if (text === "") return "Everything of this tenant that has a name.";
  if (isLoading && count === 0) return "Searching…";
  const more = isPartial ? " There is more than was searched: type more of the name." : "";
  return count === 0 ? `Nothing is named so.${more}` : more.trim();
}
