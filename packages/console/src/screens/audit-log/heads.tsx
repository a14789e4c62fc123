import type { AdminOutput } from "turnpike-host/admin-contract";
import { count } from "../../shared/words.ts";
import { Time } from "../../parts/time.tsx";

/** Where the chains of the audit log end: an operator who stores these can tell later whether something before them was changed. */
export function Heads({ heads, checkpoint }: AdminOutput<"readAuditHeads">) {
  if (heads.length === 0) return <p class="hint chain-heads">Nothing is in this audit log yet.</p>;
  const rows = heads.reduce((sum, { sequence }) => sum + sequence, 0);
  return (
    <details class="chain-heads">
      <summary>
        {count(rows, "row")} on {count(heads.length, "strand")} ·{" "}
        {checkpoint === undefined ? (
          "no signed checkpoint yet"
        ) : (
          <>
            checkpoint {checkpoint.sequence} signed <Time at={checkpoint.at} />
          </>
        )}
      </summary>
      <ul class="plain-list">
        {heads.map(({ strand, sequence, hash }) => (
          <li key={strand}>
            Strand {strand} ends with row {sequence} <code class="hash">{hash}</code>
          </li>
        ))}
      </ul>
    </details>
  );
}
