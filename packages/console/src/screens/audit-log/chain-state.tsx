import { messageOf, request } from "../../shared/api.ts";
import { useRead } from "../../shared/load.ts";
import { signal } from "@preact/signals";
import { Problem } from "../../parts/states.tsx";
import { Tag } from "../../parts/tag.tsx";
import { Time } from "../../parts/time.tsx";
import { Heads } from "./heads.tsx";
import { type Verification, type VerifiedSoFar, verifyParts } from "./verification.ts";

const rowsAtOnce = 20_000;

/** The running or last check. It continues while the operator visits other screens. */
const check = signal<{ tenant: string; so: Verification; stop: AbortController } | undefined>(undefined);

function verify(tenant: string, from: VerifiedSoFar): void {
  check.value?.stop.abort();
  const stop = new AbortController();
  const read = (cursor: string | undefined) =>
    request("verifyAudit", { namespaceId: tenant, rows: rowsAtOnce, cursor }).catch((error: unknown) => {
      throw new Error(messageOf(error));
    });
  void verifyParts(read, from, stop.signal, (so) => {
    // A check that another one replaced is not shown.
    if (check.value?.stop === stop || so.kind === "running") check.value = { tenant, so, stop };
  });
}

/** Whether the chain of the audit log is whole, as far as it was checked: its heads, its last checkpoint, and a check. */
export function ChainState({ tenant }: { tenant: string }) {
  const chain = useRead("readAuditHeads", { namespaceId: tenant });
  const so = check.value?.tenant === tenant ? check.value.so : undefined;
  const total = chain.value?.heads.reduce((sum, { sequence }) => sum + sequence, 0);
  return (
    <section class="panel chain" aria-labelledby="chain-title">
      <div class="chain-line">
        <h2 id="chain-title">Chain</h2>
        {chain.value === undefined ? <span class="hint chain-heads">…</span> : <Heads {...chain.value} />}
        <div class="actions">
          {so?.kind === "running" ? (
            <button type="button" class="button" onClick={() => check.value?.stop.abort()}>
              Stop
            </button>
          ) : (
            <>
              {(so?.kind === "stopped" || so?.kind === "unfinished") && (
                <button type="button" class="button" onClick={() => verify(tenant, so)}>
                  Go on
                </button>
              )}
              <button
                type="button"
                class="button"
                onClick={() => {
                  chain.reload();
                  verify(tenant, { rows: 0 });
                }}
              >
                {so === undefined ? "Verify" : "Verify from the start"}
              </button>
            </>
          )}
        </div>
      </div>
      {chain.problem !== undefined && <Problem text={`heads: ${chain.problem}`} again={chain.reload} />}
      {so !== undefined && <Found so={so} total={total} />}
    </section>
  );
}

function Found({ so, total }: { so: Verification; total: number | undefined }) {
  const rows = so.rows.toLocaleString();
  switch (so.kind) {
    case "running":
      return (
        <div class="chain-progress">
          <progress aria-label="Rows checked" value={total ? Math.min(so.rows, total) : undefined} max={total || 1} />
          <span>
            {rows}
            {total ? ` of ${total.toLocaleString()}` : ""} rows checked
          </span>
        </div>
      );
    case "stopped":
      return <p role="status">Stopped after {rows} rows, which are whole.</p>;
    case "unfinished":
      return <Problem text={`After ${rows} rows, which are whole: ${so.problem}`} />;
    case "whole":
      return (
        <div role="status">
          <p>
            <Tag tone="good" text="whole" /> {rows} rows are what they were written as, held against {so.checkpoints}{" "}
            signed heads of this host.
          </p>
          {so.exported.map(({ strand, sequence, until }) => (
            <p key={strand} class="hint">
              Exported and removed from strand {strand}: up to row {sequence}, <Time at={until} />.
            </p>
          ))}
        </div>
      );
    case "broken":
      return (
        <div class="broken" role="alert">
          <h3>The chain is broken</h3>
          <p>{so.broken.why}</p>
          <p>
            {so.broken.strand !== undefined && `Strand ${so.broken.strand}. `}
            {so.broken.sequence !== undefined && `Row ${so.broken.sequence} is the first that was changed or removed. `}
            {rows} rows before it are whole. Leave the database and the checkpoint file as they are.
          </p>
        </div>
      );
  }
}
