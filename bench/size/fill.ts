import { principalKey } from "turnpike/contracts";
import type { HostProcess } from "../support/host-process.ts";
import {
  alice,
  assistant,
  invokeResource,
  invokeTool,
  openWorld,
  purpose,
  startTurn,
  tenant,
} from "../support/world.ts";
import {
  auditRows,
  credentialRows,
  escalationRows,
  grantRows,
  messageRows,
  replayRows,
  useRows,
  type Amounts,
} from "./rows.ts";
import type { Row, Tables } from "./tables.ts";

const asker = { kind: "agent", agentId: "asker" } as const;

/** Does everything once, over HTTP, so that every table has a real row to make others of. Returns the agent's token. */
export async function makeTemplates(host: HostProcess): Promise<string> {
  const { url, operator } = host;
  const token = await openWorld(host);
  await invokeTool(url, token, "files.read", { path: "notes/today.md" });
  await invokeTool(url, token, "messages.send", { to: principalKey(assistant), payload: { text: "hello" } });

  // A caller who may ask, and read nothing: their turn is denied and ends with a question.
  const access = { actor: asker, owner: alice, authority: alice, purposes: [purpose] };
  const { token: askersToken } = await operator.request("createCredential", { namespaceId: tenant, access });
  await operator.request("createGrant", {
    id: "asker",
    namespaceId: tenant,
    subject: asker,
    issuer: alice,
    capabilities: [
      { resource: { namespace: "service.execution", path: ["agent", "asker"] }, actions: ["invoke"], scope: "exact" },
      { resource: { namespace: "service", path: ["escalation"] }, actions: ["request"], scope: "exact" },
    ],
    constraints: {},
    issuedAt: new Date(Date.now() - 60_000).toISOString(),
  });
  const update = { enable: ["files", "service"] };
  await operator.request("changeNamespaces", { namespaceId: tenant, actor: asker, update });
  const ended = await startTurn(url, askersToken, asker, "private/diary.md");
  if (ended !== "escalated") throw new Error(`the turn was to end with a question, and ended ${ended}`);
  return token;
}

/** Writes files as their owner's agent does, a few at once: their full text is indexed by the host. */
export async function writeFiles({ url }: HostProcess, token: string, count: number): Promise<void> {
  const words = ["water", "plants", "report", "invoice", "meeting", "budget", "travel", "garden"];
  let next = 0;
  const writer = async (): Promise<void> => {
    while (next < count) {
      const place = next;
      next += 1;
      const line = Array.from({ length: 40 }, (_, word) => words[(place * 7 + word * (place % 5)) % words.length]);
      const content = `# Note ${place}\n${line.join(" ")}\n`.repeat(5);
      await invokeResource(url, token, "create", ["bulk", `folder-${place % 50}`, `note-${place}.md`], { content });
    }
  };
  await Promise.all(Array.from({ length: 16 }, writer));
}

/** Fills the tables of a tenant that has one real row in each. */
export async function fillTables(tables: Tables, amounts: Amounts, say: (words: string) => void): Promise<void> {
  const now = Date.now();
  const rows = (table: string, order: string): Promise<Row[]> =>
    tables.all(`select * from ${table} where namespace_id = '${tenant}' order by ${order}`);
  const one = async (table: string, order = "1"): Promise<Row> => {
    const [row] = await rows(table, order);
    if (row === undefined) throw new Error(`${table} has no row to make others of`);
    return row;
  };
  const fill = async (table: string, filling: Iterable<Row>): Promise<void> => {
    const start = performance.now();
    await tables.insert(table, filling);
    say(`${table} filled in ${((performance.now() - start) / 1000).toFixed(1)} s`);
  };

  const head = await one("audit_heads");
  await fill("audit", auditRows(head, await rows("audit", "sequence"), amounts.audit, now));
  await tables.run(`update audit_heads set
    sequence = (select max(sequence) from audit where namespace_id = '${tenant}'),
    hash = (select hash from audit where namespace_id = '${tenant}' order by sequence desc limit 1)
    where namespace_id = '${tenant}'`);
  await fill("grants", grantRows(await one("grants"), amounts.grants, now));
  await fill("uses", useRows(tenant, amounts.grants));
  await fill("replay", replayRows(await one("replay"), amounts.replay, now));
  await fill("credentials", credentialRows(await one("credentials"), amounts.credentials));
  await fill("escalations", escalationRows(await one("escalations"), amounts.escalations));
  await fill("messages", messageRows(await one("messages"), amounts.messages));
  const inbox = `namespace_id = '${tenant}' and receiver = '${principalKey(assistant)}'`;
  await tables.run(`update inboxes set
    sequence = (select max(sequence) from messages where ${inbox}),
    unacknowledged = (select count(*) from messages where ${inbox} and acknowledged_at is null) where ${inbox}`);
  // PostgreSQL would do so by itself before long.
  if (tables.kind === "postgres") await tables.run("analyze");
}
