import { useRef, useState } from "preact/hooks";
import { wantsText } from "turnpike-host/display";
import type { EscalationRecord } from "turnpike-host/admin-contract";
import { may, messageOf, request } from "../../shared/api.ts";
import { addressOf } from "../../shared/place.ts";
import { session } from "../../shared/session.ts";
import { count, principalText, visibleText } from "../../shared/words.ts";
import { CheckField } from "../../parts/check-field.tsx";
import { Chips } from "../../parts/chips.tsx";
import { Form, TextField } from "../../parts/fields.tsx";
import { Facts } from "../../parts/facts.tsx";
import { ForeignParagraph, ForeignText } from "../../parts/foreign-text.tsx";
import { GrantLink } from "../../parts/grant-link.tsx";
import { Link } from "../../parts/link.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Empty } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { firstDraft, noReason, termsOf } from "./answer-draft.ts";
import { batchKey, batchTable } from "./batch.ts";

const times = [
  { value: "10m", text: "10 min" },
  { value: "1h", text: "1 hour" },
  { value: "8h", text: "8 hours" },
  { value: "usual", text: "As usual" },
] as const;

/** Several escalations that differ only in their arguments, as a table. The answer is for the ticked rows, which are one act each. */
export function BatchDetail({
  id,
  waiting,
  onAnswer,
}: {
  /** One of them. */
  id: string;
  /** The open escalations. */
  waiting: readonly EscalationRecord[];
  onAnswer(): void;
}) {
  const rows = useBatch(id, waiting);
  const [ticked, setTicked] = useState<ReadonlySet<string>>(new Set());
  const [became, setBecame] = useState<ReadonlyMap<string, string>>(new Map());
  const [expiry, setExpiry] = useState<(typeof times)[number]["value"]>("10m");
  const [reason, setReason] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [first] = rows;
  if (first === undefined && waiting.some((row) => row.id === id))
    return (
      <Empty title="This question is answered alone.">
        <Link to={addressOf(["questions", id])}>Open it</Link>
      </Empty>
    );
  if (first === undefined)
    return (
      <Empty title="These questions wait no more.">
        <Link to={addressOf(["questions"])}>All questions</Link>
      </Empty>
    );
  const open = new Set(waiting.map((row) => row.id));
  const isOpen = (row: EscalationRecord): boolean => open.has(row.id) && !became.has(row.id);
  const chosen = rows.filter((row) => isOpen(row) && ticked.has(row.id));
  const tick = (ids: readonly string[], isOn: boolean): void =>
    setTicked((before) => new Set([...before].filter((one) => !ids.includes(one)).concat(isOn ? ids : [])));

  const answer = async (send: (row: EscalationRecord) => Promise<string>): Promise<void> => {
    setBusy(true);
    // One request for each, because every act has a permit of its own. After a failure the others are still sent.
    for (const row of chosen) {
      const said = await send(row).catch(messageOf);
      setBecame((before) => new Map(before).set(row.id, said));
    }
    setBusy(false);
    onAnswer();
  };
  const approve = (): Promise<void> =>
    answer(async (row) => {
      const { ok, ...terms } = termsOf({ ...firstDraft, expiry }, row, Date.now());
      const { namespaceId, ask } = row;
      const done = await request("approveEscalation", { namespaceId, id: row.id, ask, ...(ok && terms) });
      return done.escalation.status === "pending"
        ? "Your approval is recorded; another operator has to approve it, too."
        : "approved";
    });
  const deny = (): Promise<void> =>
    answer(async ({ namespaceId, id: one, ask }) => {
      await request("denyEscalation", { namespaceId, id: one, ask, reason: reason.trim() || noReason });
      return "denied";
    });

  const table = batchTable(rows);
  const isReviewer = may("approveEscalation");
  const mine = session.current.value?.operator.actor;
  const isOwn = mine !== undefined && principalText(mine) === principalText(first.requester);
  const openIds = rows.filter(isOpen).map((row) => row.id);
  const columns: Column<(typeof table.rows)[number]>[] = [
    ...(isReviewer
      ? [
          {
            title: "Answer",
            cell: ({ escalation }: (typeof table.rows)[number]) =>
              isOpen(escalation) ? (
                <input
                  type="checkbox"
                  aria-label={`Row ${rows.indexOf(escalation) + 1}`}
                  checked={ticked.has(escalation.id)}
                  disabled={isBusy}
                  onChange={(event) => tick([escalation.id], event.currentTarget.checked)}
                />
              ) : (
                <ForeignText text={became.get(escalation.id) ?? "answered by another operator, or over"} />
              ),
          },
        ]
      : []),
    ...table.columns.map((name, place) => ({
      title: visibleText(name),
      kind: "code" as const,
      cell: ({ cells }: (typeof table.rows)[number]) => <Value value={cells[place]} />,
    })),
    ...(table.rows.some(({ needs }) => needs !== undefined)
      ? [{ title: "Needs", cell: ({ needs }: (typeof table.rows)[number]) => needs ?? "" }]
      : []),
    {
      title: "All of it",
      cell: ({ escalation }) => <Link to={addressOf(["questions", escalation.id])}>Open it alone</Link>,
    },
  ];
  return (
    <article class="escalation" aria-label="The questions">
      <header class="escalation-head">
        <h2>
          <ForeignText text={principalText(first.requester)} /> wants to{" "}
          <strong>
            <ForeignText text={wantsText(first)} />
          </strong>
          , {count(rows.length, "time")}
        </h2>
      </header>
      <Panel title="Each row is one act, and an approval is for exactly that, once">
        {isReviewer && (
          <CheckField
            label={`All ${openIds.length} that wait`}
            isOn={openIds.length > 0 && openIds.every((one) => ticked.has(one))}
            isDisabled={openIds.length === 0 || isBusy}
            onChange={(isOn) => tick(openIds, isOn)}
          />
        )}
        <Table label="Arguments" columns={columns} rows={table.rows} keyOf={({ escalation }) => escalation.id} />
        <Facts
          of={[
            ["Why it asks", first.reason],
            ["In the name of", principalText(first.authority)],
            ["For the purpose", first.purpose],
            ["Carried by the grant", first.approval && <GrantLink id={first.approval.grantId} />],
          ]}
        />
      </Panel>
      {isReviewer ? (
        <section class="panel answer" aria-labelledby="batch-answer">
          <h3 id="batch-answer">Your answer to {count(chosen.length, "ticked row")}</h3>
          {isOwn ? (
            <p>You requested these yourself: another operator has to approve them.</p>
          ) : (
            <Form label="Approve" onSend={() => void approve()}>
              <Chips
                label="How long each approval can be used"
                value={expiry}
                options={times}
                onChange={(value) => setExpiry(value)}
              />
              <div class="actions">
                <button type="submit" class="button main" disabled={isBusy || chosen.length === 0} aria-busy={isBusy}>
                  Approve {chosen.length}
                </button>
              </div>
            </Form>
          )}
          <Form label="Deny" onSend={() => void deny()}>
            <div class="deny">
              <TextField label="Why not? (optional) The agent reads this" value={reason} onChange={setReason} />
              <button type="submit" class="button danger" disabled={isBusy || chosen.length === 0} aria-busy={isBusy}>
                Deny {chosen.length}
              </button>
            </div>
          </Form>
        </section>
      ) : (
        <p class="note wait">Your role reads questions. A reviewer or an admin answers them.</p>
      )}
    </article>
  );
}

/** The escalations of the batch, the oldest first. While the operator reads, new ones are added at the end, and none is removed. */
function useBatch(id: string, waiting: readonly EscalationRecord[]): EscalationRecord[] {
  const seen = useRef<EscalationRecord[]>([]);
  const key = useRef<string>();
  key.current ??= waiting.filter((row) => row.id === id).map(batchKey)[0];
  const fresh = waiting.filter(
    (row) =>
      key.current !== undefined && batchKey(row) === key.current && !seen.current.some((one) => one.id === row.id),
  );
  seen.current.push(...fresh.toSorted((one, other) => one.requestedAt.localeCompare(other.requestedAt)));
  return seen.current;
}

function Value({ value }: { value: string | undefined }) {
  return value === undefined ? (
    <span class="hint">not given</span>
  ) : (
    <span>
      <ForeignParagraph text={value} />
    </span>
  );
}
