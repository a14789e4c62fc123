import { ask, type Answer } from "../../../packages/host/test/host-calls.ts";
import type { HostProcess } from "../../support/host-process.ts";
import { listCall, makeCredential, makeGrant, turn } from "../../support/host-world.ts";

/** Something that a client does; throws when it is answered in another way than it should be. */
type Call = (id: string) => Promise<void>;

const tenant = "acme";

/** What many clients of one tenant do at the same time, and how often compared with each other. */
export async function openMixedCalls(host: HostProcess): Promise<readonly Call[]> {
  await makeGrant(host, { id: "notes", resource: "files/notes", actions: ["*"] });
  await makeGrant(host, { id: "turns", resource: "service.execution/agent/assistant", actions: ["invoke"] });
  const { token } = await makeCredential(host);
  const operator = host.operatorToken();
  await ask(host.url, "/v1/tools/namespaces", { token, method: "PUT", body: { enable: ["files"] } });
  const post = (path: string, body: unknown, headers = {}) =>
    ask(host.url, path, { token, body, headers: { "x-trace-id": "t", ...headers } });
  const authorize = (path: string[]) =>
    post("/v1/authorize", { action: "read", resource: { namespace: "files", path } });
  const file = (operationId: string, action: string, path: string[], input: object) =>
    post("/v1/resources/invoke", { operationId, action, resource: { namespace: "files", path }, input });

  const allowed: Call = async () => requireText(await authorize(["notes", "a"]), '"allowed":true');
  const denied: Call = async () => requireText(await authorize(["letters"]), '"allowed":false');
  const listed: Call = async (id) =>
    requireText(await post("/v1/tools/invoke", listCall(id, "t")), '"status":"succeeded"');
  const written: Call = async (id) => {
    for (const [action, input] of [
      ["create", { content: id.repeat(50) }],
      ["read", {}],
      ["delete", {}],
    ] as const)
      requireText(await file(`${id}-${action}`, action, ["notes", id], input), '"status":"succeeded"');
  };
  const ran: Call = async (id) =>
    requireText(await post("/v1/turns", turn(id, "t", { read: "notes" })), '"executionId"');
  const streamed: Call = async (id) =>
    requireText(await post("/v1/turns", turn(id, "t", {}), { accept: "text/event-stream" }), "event:");
  const left: Call = async (id) => {
    const stop = new AbortController();
    const sent = fetch(`${host.url}/v1/turns`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "x-trace-id": "t" },
      body: JSON.stringify(turn(id, "t", {})),
      signal: stop.signal,
    });
    setImmediate(() => stop.abort());
    await sent
      .then(
        (response) => response.text(),
        () => {},
      )
      .catch(() => {});
  };
  const revoked: Call = async (id) => {
    await makeGrant(host, { id, resource: `files/${id}`, actions: ["read"], maxUses: 1 });
    requireText(await authorize([id]), '"allowed":true');
    await ask(host.url, "/admin/v1/grants/revoke", { token: operator, body: { namespaceId: tenant, id } });
    requireText(await authorize([id]), '"allowed":false');
  };
  const watched: Call = async () => {
    const { status } = await ask(host.url, `/admin/v1/events?namespaceId=${tenant}`, {
      token: operator,
      read: async ({ body }) => (await body?.cancel(), ""),
    });
    if (status !== 200) throw new Error(`A stream of events was answered with ${status}.`);
  };
  const asked: Call = async () => {
    const query = new URLSearchParams({ namespaceId: tenant, limit: "20" });
    requireText(await ask(host.url, `/admin/v1/audit?${query}`, { token: operator }), '"events"');
  };
  return [
    ...times(8, allowed),
    ...times(4, denied),
    ...times(6, listed),
    ...times(3, written),
    ...times(2, ran),
    ...times(2, streamed),
    left,
    revoked,
    watched,
    asked,
  ];
}

function times(count: number, call: Call): Call[] {
  return Array.from({ length: count }, () => call);
}

function requireText({ status, text }: Answer, expected: string): void {
  if (!text.includes(expected)) throw new Error(`Expected ${expected}, got ${status}: ${text.slice(0, 500)}`);
}
