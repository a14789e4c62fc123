import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openDatabase } from "../../packages/host/src/storage/index.ts";
import { entriesOfRow } from "../../packages/host/src/turns/journal/turn-rows.ts";
import { createServiceClient, type ServiceClient } from "../../packages/turnpike/src/client/index.ts";
import type { TurnEvent, TurnRequest, TurnState } from "../../packages/turnpike/src/contracts/index.ts";
import { ask } from "../../packages/host/test/host-calls.ts";
import { startScript, type HostSettings } from "./effect-host.ts";
import type { HostProcess } from "./host-process.ts";
import { makeCredential, makeGrant, turn } from "./host-world.ts";

const script = fileURLToPath(new URL("./durable-host.js", import.meta.url));

/** Starts the host whose turns take several steps. */
export function startDurableHost(folder: string, settings: HostSettings = {}): Promise<HostProcess> {
  return startScript(script, folder, settings);
}

/** A tenant whose assistant may run turns, append effects and ask, and the assistant's credential. */
export async function makeDurableTenant(
  host: HostProcess,
  tenant = "acme",
  maxTurns?: number,
): Promise<{ id: string; token: string }> {
  const uses = maxTurns === undefined ? {} : { maxUses: maxTurns };
  const running = { id: "turns", resource: "service.execution/agent/assistant", actions: ["invoke"] };
  await makeGrant(host, { ...running, ...uses, tenant });
  await makeGrant(host, { id: "effects", tenant, resource: "effects", actions: ["append"] });
  await makeGrant(host, { id: "asking", tenant, resource: "service/escalation", actions: ["request"] });
  const credential = await makeCredential(host, { tenant });
  const enable = ["effects", "service"];
  await ask(host.url, "/v1/tools/namespaces", { token: credential.token, method: "PUT", body: { enable } });
  return credential;
}

/** A client of the assistant on whichever host the function names. */
export function durableClient(token: string, url: () => string): ServiceClient {
  return createServiceClient({
    baseUrl: "http://host.test",
    token,
    headers: { "x-trace-id": "t" },
    fetch: (input, init) => fetch(String(input).replace("http://host.test", url()), init),
  });
}

/** A turn of so many steps, which asks a person in one of them when told. */
export function stepsTurn(executionId: string, steps: number, asks?: number): TurnRequest {
  const options = { maxSteps: 1000, maxToolCalls: 10_000, timeoutMs: 600_000 };
  const request = turn(executionId, "t", { steps, ...(asks !== undefined && { asks }) });
  return { ...request, options } as unknown as TurnRequest;
}

/** Follows a turn to its end, however often the host goes away. */
export async function followToEnd(client: ServiceClient, executionId: string): Promise<TurnEvent[]> {
  const events: TurnEvent[] = [];
  for await (const event of client.turnEvents(executionId)) events.push(event);
  return events;
}

/** The lines of a file below the folder of a host. */
export function linesIn(folder: string, name: string): string[] {
  const file = join(folder, name);
  return existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
}

/** The steps that are stored of all turns, as `asked.log` names them. Of SQLite no host may run meanwhile. */
export async function storedSteps(location: string): Promise<Set<string>> {
  const database = await openDatabase(location);
  try {
    const rows = await database.db
      .selectFrom("turn_entries")
      .innerJoin("turns", "turns.id", "turn_entries.turn")
      .select(["turns.execution_id", "turn_entries.kind", "turn_entries.content"])
      .execute();
    return new Set(
      rows.flatMap((row) =>
        entriesOfRow(row).flatMap((entry) => (entry.kind === "step" ? [`${row.execution_id} ${entry.name}`] : [])),
      ),
    );
  } finally {
    await database.close();
  }
}

/** A turn of one step, in which so many calls need a person's approval. */
export function guardedTurn(executionId: string, guarded: number): TurnRequest {
  const request = stepsTurn(executionId, 1);
  return { ...request, message: { ...request.message, payload: { steps: 1, guarded } } };
}

/** The escalations of calls that wait, by the lines that the calls would write. */
export async function openActs(host: HostProcess, tenant = "acme"): Promise<Map<string, { id: string; ask: string }>> {
  const path = `/admin/v1/escalations?namespaceId=${tenant}&status=pending&limit=200`;
  const listed = await ask(host.url, path, { token: host.operatorToken() });
  const { escalations } = listed.body as {
    escalations: { id: string; ask: string; approval?: { act: { arguments: { line: string } } } }[];
  };
  return new Map(
    escalations.map(({ id, ask: hash, approval }) => [approval?.act.arguments.line ?? "", { id, ask: hash }]),
  );
}

/** Approves or denies the call that would write a line. */
export async function answerAct(host: HostProcess, line: string, answer: "approve" | "deny", tenant = "acme") {
  const open = (await openActs(host, tenant)).get(line);
  const body = { namespaceId: tenant, ...open, ...(answer === "deny" && { reason: "No." }) };
  const answered = await ask(host.url, `/admin/v1/escalations/${answer}`, { token: host.operatorToken(), body });
  if (answered.status !== 200) throw new Error(`Not answered: ${answered.text}`);
}

/** Approves or denies every escalation that waits. */
export async function answerAll(host: HostProcess, tenant: string, answer: "deny"): Promise<number> {
  const token = host.operatorToken();
  const listed = await ask(host.url, `/admin/v1/escalations?namespaceId=${tenant}&status=pending&limit=200`, { token });
  const { escalations } = listed.body as { escalations: { id: string; ask: string }[] };
  for (const { id, ask: asked } of escalations) {
    const body = { namespaceId: tenant, id, ask: asked, reason: "No." };
    const answered = await ask(host.url, `/admin/v1/escalations/${answer}`, { token, body });
    if (answered.status !== 200) throw new Error(`Not answered: ${answered.text}`);
  }
  return escalations.length;
}

/** The states of turns. */
export function statesOf(client: ServiceClient, ids: readonly string[]): Promise<TurnState[]> {
  return Promise.all(ids.map((id) => client.turn(id)));
}
