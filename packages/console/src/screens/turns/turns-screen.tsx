import type { AdminOutput } from "turnpike-host/admin-contract";
import { request } from "../../shared/api.ts";
import { useHeldRows } from "../../shared/held-rows.ts";
import { useNow } from "../../shared/now.ts";
import { usePages } from "../../shared/pages.ts";
import { place, setQuery } from "../../shared/place.ts";
import { useRefresh } from "../../shared/refresh.ts";
import { useTyped } from "../../shared/typed.ts";
import { principalText } from "../../shared/words.ts";
import { Form, SelectField } from "../../parts/fields.tsx";
import { ForeignText } from "../../parts/foreign-text.tsx";
import { Link } from "../../parts/link.tsx";
import { ListEnd, News } from "../../parts/list-end.tsx";
import { PrincipalField } from "../../parts/principal-field.tsx";
import { Empty } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { StateTag } from "../../parts/tag.tsx";
import { Time } from "../../parts/time.tsx";
import { turnAddress } from "./turn-address.ts";
import { noteText, tookText } from "./turn-text.ts";
import { TurnView } from "./turn-view.tsx";

type Turn = AdminOutput<"listAllTurns">["turns"][number];

const pageSize = 50;

/** The turns of a tenant, or one of them. */
export function TurnsScreen() {
  const [executionId] = place.value.rest;
  const actor = place.value.query.get("of") ?? undefined;
  return executionId === undefined ? (
    <TurnList />
  ) : (
    <TurnView key={executionId} executionId={executionId} actor={actor} />
  );
}

function TurnList() {
  const { tenant = "", query } = place.value;
  const status = query.get("status") ?? "";
  const actor = query.get("actor") ?? "";
  const pages = usePages(
    async (before) => {
      const filter = { status: status || undefined, actor: actor || undefined };
      const page = await request("listAllTurns", { namespaceId: tenant, ...filter, before, limit: pageSize });
      return { items: page.turns, cursor: page.next };
    },
    [tenant, status, actor],
  );
  // An operator who reads further down is not taken back to the first page by what happens meanwhile.
  const isFirstPage = (pages.items?.length ?? 0) <= pageSize;
  useRefresh(
    () => isFirstPage && pages.reload(),
    ({ kind }) => kind === "turn",
  );
  const { rows, news, hold, showNews } = useHeldRows(pages.items ?? [], keyOf, `${status} ${actor}`);
  const now = useNow(1000);
  const isFiltered = status !== "" || actor !== "";
  return (
    <>
      <h1>Turns</h1>
      <div class="form row filters">
        <SelectField
          label="Status"
          value={status}
          onChange={(value) => setQuery({ status: value || undefined })}
          options={statuses}
        />
        <ActorFilter actor={actor} />
        {!isFirstPage && (
          <button type="button" class="button" onClick={pages.reload}>
            Back to the newest
          </button>
        )}
      </div>
      <div class="live-list" {...hold}>
        {pages.items?.length === 0 && !pages.hasMore ? (
          <Empty title={isFiltered ? "No turn fits these filters." : "No turn has been started yet."}>
            {isFiltered ? "Choose another status or another actor above." : "A turn is one task of an agent."}
          </Empty>
        ) : (
          rows.length > 0 && <Table label="Turns, the newest first" columns={columns(now)} rows={rows} keyOf={keyOf} />
        )}
        <News count={news} onShow={showNews} />
      </div>
      <ListEnd what="turns" of={pages} />
    </>
  );
}

/** Who started them; taken over with Enter, or by leaving the field. */
function ActorFilter({ actor }: { actor: string }) {
  const [typed, change] = useTyped({ actor });
  const take = (): void => {
    if (typed.actor.trim() !== actor) setQuery({ actor: typed.actor.trim() });
  };
  return (
    <Form label="Started by" onSend={take} onLeave={take}>
      <PrincipalField label="Started by" value={typed.actor} onChange={(text) => change({ actor: text })} />
    </Form>
  );
}

const statuses = [
  { value: "", text: "Any" },
  { value: "running,waiting", text: "Not over yet" },
  { value: "running", text: "Running" },
  { value: "waiting", text: "Waiting for an answer" },
  { value: "succeeded", text: "Succeeded" },
  { value: "denied", text: "Denied" },
  { value: "failed", text: "Failed" },
  { value: "cancelled", text: "Cancelled" },
  { value: "escalated", text: "Ended with a question" },
];

function keyOf({ actor, state }: Turn): string {
  return `${principalText(actor)} ${state.executionId}`;
}

/** The agent, and who started it if that was another principal. */
function whoText({ actor, state: { agent } }: Turn): string {
  const [who, by] = [principalText(agent), principalText(actor)];
  return who === by ? who : `${who}, started by ${by}`;
}

function columns(now: number): Column<Turn>[] {
  return [
    { title: "State", cell: ({ state }) => <StateTag state={state.status} /> },
    {
      title: "Turn",
      cell: (turn) => (
        <Link to={turnAddress(turn)} class="clip">
          <ForeignText text={turn.state.executionId} />
        </Link>
      ),
    },
    { title: "Agent", cell: whoText },
    { title: "Started", cell: ({ state }) => <Time at={state.startedAt} /> },
    { title: "Took", kind: "number", cell: ({ state }) => tookText(state, now) },
    { title: "Steps", kind: "number", isMinor: true, cell: ({ state }) => state.steps },
    { title: "Calls", kind: "number", isMinor: true, cell: ({ state }) => state.toolCalls },
    { title: "Note", cell: ({ state }) => noteText(state) },
  ];
}
