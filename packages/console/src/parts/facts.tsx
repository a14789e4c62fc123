import type { ComponentChildren } from "preact";
import { ForeignText } from "./foreign-text.tsx";

/** What something is called, and what it is. */
export type Fact = readonly [name: string, value: ComponentChildren];

/** Facts beside each other; those without a value are left out. Texts may be any caller's. */
export function Facts({ of: facts }: { of: readonly Fact[] }) {
  return (
    <dl class="facts">
      {facts.map(
        ([name, value]) =>
          value !== undefined && (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{typeof value === "string" ? <ForeignText text={value} /> : value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}
