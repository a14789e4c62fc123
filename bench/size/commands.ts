import type { AdminCallName } from "turnpike-host/admin-contract";
import type { HostProcess } from "../support/host-process.ts";
import {
  alice,
  assistant,
  authorize,
  invokeResource,
  invokeTool,
  notePath,
  purpose,
  startTurn,
  tenant,
} from "../support/world.ts";
import { grantId } from "./rows.ts";

type ListInput = Readonly<Record<string, unknown>> & { limit?: number; cursor?: string };
type ListRoute = "listGrants" | "listAudit" | "listEscalations";

/** Something that an operator or a caller may do to a host with much data, by the words of its command. */
export interface Command {
  readonly name: string;
  run(): Promise<unknown>;
}

/**
 * The calls that agents make all the time, and every command that reads, with each of its filters: where much matches, where
 * nothing does, and deep in the list.
 */
export function commandsOf(host: HostProcess, token: string, grants: number, now: number): Command[] {
  const { url, operator, operatorToken } = host;
  const ask = (name: string, route: AdminCallName, input: object = {}): Command => ({
    name,
    run: () => operator.request(route, { namespaceId: tenant, ...input }),
  });
  /** A list reads on, as the command does, until it has what was asked for or comes to its end. */
  const list = (name: string, route: ListRoute, input: ListInput = {}): Command => ({
    name,
    async run() {
      const { limit = 50 } = input;
      let { cursor } = input;
      let found = 0;
      do {
        const page = await operator.request(route, { namespaceId: tenant, ...input, limit: limit - found, cursor });
        found += ("grants" in page ? page.grants : "events" in page ? page.events : page.escalations).length;
        ({ cursor } = page);
      } while (cursor !== undefined && found < limit);
    },
  });
  const files = (name: string, action: string, path: string[], input: object = {}): Command => ({
    name,
    run: () => invokeResource(url, token, action, path, input),
  });
  const tool = (name: string, called: string, args: object = {}): Command => ({
    name,
    run: () => invokeTool(url, token, called, args),
  });
  const get = (name: string, path: string, bearer: string): Command => ({
    name,
    async run() {
      const response = await fetch(new URL(path, url), { headers: { authorization: `Bearer ${bearer}` } });
      if (!response.ok) throw new Error(`${path} answers ${response.status}`);
      await response.text();
    },
  });
  const day = (before: number): string => new Date(now - before * 86_400_000).toISOString();
  const denial = { actor: assistant, authority: alice, owner: alice, purpose, action: "read" };
  let revoked = 17;

  return [
    { name: "a call of authorize", run: () => authorize(url, token) },
    tool("a call of a tool", "files.read", { path: notePath.join("/") }),
    { name: "a turn", run: () => startTurn(url, token, assistant, notePath.join("/")) },
    tool("message send", "messages.send", { to: "agent:agent-7", payload: "hello" }),
    get("metrics", "/metrics", operatorToken),
    get("ready", "/ready", ""),
    ask("credential list", "listCredentials"),
    { name: "credential list, all tenants", run: () => operator.request("listCredentials", {}) },
    ask("credential list --tenant, of few", "listCredentials", { namespaceId: "small-tenant" }),
    ask("credential list --tenant, of nobody", "listCredentials", { namespaceId: "no-tenant" }),
    list("grant list", "listGrants"),
    list("grant list --limit 500", "listGrants", { limit: 500 }),
    list("grant list --cursor, near the end", "listGrants", { cursor: grantId(grants - 10) }),
    list("grant list --to, one of many", "listGrants", { subject: "agent:agent-7" }),
    list("grant list --to, who has a tenth", "listGrants", { subject: "agent:agent-0" }),
    list("grant list --to, nobody", "listGrants", { subject: "agent:nobody" }),
    list("grant list --from, one of many", "listGrants", { issuer: "human:user-7" }),
    list("grant list --from, nobody", "listGrants", { issuer: "human:nobody" }),
    ...["live", "future", "expired", "revoked", "exhausted", "invalid", "unknown"].map((state) =>
      list(`grant list --state ${state}`, "listGrants", { state }),
    ),
    list("grant list --resource files", "listGrants", { resource: "files" }),
    list("grant list --resource, none", "listGrants", { resource: "nowhere" }),
    list("grant list --to, a tenth, --state unknown", "listGrants", { subject: "agent:agent-0", state: "unknown" }),
    {
      name: "grant revoke",
      run() {
        revoked += 20;
        return operator.request("revokeGrant", { namespaceId: tenant, id: grantId(revoked) });
      },
    },
    list("audit list", "listAudit"),
    list("audit list --limit 500", "listAudit", { limit: 500 }),
    list("audit list --cursor, near the start", "listAudit", {
      cursor: `${day(89.9)}_0_100`,
    }),
    list("audit list --from, last day", "listAudit", { from: day(1) }),
    list("audit list --from, in the future", "listAudit", { from: day(-1) }),
    list("audit list --until, 89 days ago", "listAudit", { until: day(89) }),
    list("audit list --until, before everything", "listAudit", { until: day(100) }),
    list("audit list --from --until, an hour", "listAudit", { from: day(45), until: day(44.96) }),
    list("audit list --actor, one of many", "listAudit", { actor: "agent:agent-7" }),
    list("audit list --actor, nobody", "listAudit", { actor: "agent:nobody" }),
    list("audit list --type tool.invoked", "listAudit", { type: "tool.invoked" }),
    list("audit list --type, none", "listAudit", { type: "reach.read" }),
    list("audit list --outcome denied", "listAudit", { outcome: "denied" }),
    list("audit list --outcome, none", "listAudit", { outcome: "cancelled" }),
    list("audit list --trace", "listAudit", { traceId: "trace-77" }),
    list("audit list --trace, none", "listAudit", { traceId: "no-trace" }),
    list("audit list --actor --outcome", "listAudit", { actor: "agent:agent-7", outcome: "denied" }),
    list("audit list --type --outcome, both common, none", "listAudit", { type: "tool.invoked", outcome: "allowed" }),
    {
      name: "audit verify",
      async run() {
        let cursor: string | undefined;
        do {
          const part = await operator.request("verifyAudit", { namespaceId: tenant, rows: 10_000, cursor });
          ({ cursor } = part);
          if (cursor === undefined && !part.isWhole)
            throw new Error(`the audit log is not filled as the host would have: ${part.broken?.why}`);
        } while (cursor !== undefined);
      },
    },
    ask("audit verify, of no trail", "verifyAudit", { namespaceId: "small-tenant" }),
    { name: "audit checkpoint", run: () => operator.request("readCheckpoints", { from: 0 }) },
    list("escalation list", "listEscalations"),
    ...["pending", "approved", "denied", "expired"].map((status) =>
      list(`escalation list --status ${status}`, "listEscalations", { status }),
    ),
    ask("why", "explain", { ...denial, resource: { namespace: "files", path: ["folder-1"] } }),
    ask("why, of who has a tenth of all grants", "explain", {
      ...denial,
      actor: { kind: "agent", agentId: "agent-0" },
      authority: { kind: "human", userId: "user-0" },
      resource: { namespace: "files", path: ["elsewhere"] },
    }),
    ask("namespace list", "readNamespaces", { actor: "agent:assistant" }),
    get("tools list", "/v1/tools", token),
    tool("message inbox", "messages.inbox"),
    tool("message inbox --all", "messages.inbox", { includeAcknowledged: true, limit: 100 }),
    tool("message inbox --acknowledge, none", "messages.inbox", { acknowledge: ["no-message"] }),
    files("files list", "list", []),
    files("files list --limit 1000", "list", [], { limit: 1000 }),
    files("files stat", "stat", ["bulk", "folder-7", "note-7.md"]),
    files("files search, in all of them", "search", [], { query: "water plants", limit: 100 }),
    files("files search, in none", "search", [], { query: "nonexistent" }),
    files("files search --in", "search", ["bulk", "folder-7"], { query: "water" }),
    files("files grep", "grep", [], { pattern: "garden" }),
    files("files grep, in none", "grep", [], { pattern: "nonexistent" }),
    files("files grep --regex, in none", "grep", [], { pattern: "(no|non)existent$", regex: true }),
    files("files snapshot create", "snapshot:create", ["bulk"]),
    files("files snapshot list", "snapshot:list", ["bulk"]),
  ];
}
