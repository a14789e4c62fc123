import { describe, expect, test } from "vitest";
import type { JsonObject } from "turnpike/contracts";
import type { EscalationRecord } from "../admin-contract/index.ts";
import { grant } from "../../test/records.ts";
import { capabilityCases, cutCases, nameCases } from "../../test/display-cases.ts";
import { shortText } from "./act-text.ts";
import { approvedText, escalationText, isCut } from "./escalation-text.ts";
import { renderTable } from "./table.ts";

const [alice, bob] = [
  { kind: "human", userId: "alice" },
  { kind: "human", userId: "bob" },
] as const;
const hash = "0".repeat(64);
const flags = { url: "http://127.0.0.1:8787", database: ".turnpike/turnpike.db", tenant: "acme" };
const resource = { namespace: "service.messaging", path: ["human", "bob"] };

/** An escalation about one act. */
function escalationOf(changes: Partial<EscalationRecord> = {}): EscalationRecord {
  return {
    id: "q0abc",
    namespaceId: "acme",
    status: "pending",
    ask: hash,
    requester: { kind: "agent", agentId: "assistant" },
    reviewer: alice,
    authority: alice,
    purpose: "support",
    reason: "Approval is needed to call mail.send.",
    approval: {
      act: { kind: "tool", tool: "mail.send", arguments: { to: "bob", body: "Hi\u202e!" } },
      request: { action: "send", resource },
      grantId: "grant-1",
    },
    traceId: "trace-1",
    requestedAt: "2026-01-01T12:00:00.000Z",
    expiresAt: "2026-01-02T12:00:00.000Z",
    ...changes,
  };
}

const carrier = grant("grant-1", {
  namespaceId: "acme",
  issuer: alice,
  capabilities: [{ resource, actions: ["send"], scope: "exact", approval: "each" }],
  constraints: { purposes: ["support"], maxUses: 3 },
});

describe("the command shows what the shared table says:", () => {
  test("of names in a table", () => {
    const table = renderTable([{ heading: "NAME", value: ({ text }: { text: string }) => text }], nameCases);
    expect(table.split("\n").slice(1)).toEqual(nameCases.map(({ shown }) => shown));
  });
  for (const { name, capability, shown } of capabilityCases) {
    test(`of a grant with ${name}`, () => {
      const part = { ...carrier, capabilities: [capability] };
      const shownTo = { escalation: escalationOf(), approvalsNeeded: 1, grant: part };
      const lines = escalationText(shownTo, flags).split("\n");
      expect(lines).toContain(`  ${shown}`);
    });
  }
  for (const { name, text, most, shown, left } of cutCases) {
    test(`of a text that is cut ${name}`, () => {
      expect(shortText(text, most)).toBe(
        left === 0 ? shown : `${shown}... (${left} more characters: --full shows all)`,
      );
    });
  }
});

describe("an escalation about one act is shown", () => {
  test("with what is gone, when it was closed, and without a way to answer it", () => {
    const closed = { reason: "grant_revoked", grantId: "grant-1", at: "2026-01-01T13:00:00.000Z" } as const;
    const text = escalationText({ escalation: escalationOf({ status: "expired", closed }), approvalsNeeded: 1 }, flags);
    expect(text.split("\n")[0]).toBe(
      "q0abc of acme was closed 2026-01-01T13:00:00.000Z: its grant grant-1 was revoked.",
    );
    expect(text).not.toContain("escalation approve");
  });

  test("with who wants what, its arguments, the grant, who approved, and how to answer exactly that", () => {
    const shown = { escalation: escalationOf(), approvalsNeeded: 1, grant: carrier };
    expect(escalationText(shown, flags).split("\n")).toEqual([
      "q0abc of acme waits until 2026-01-02T12:00:00.000Z.",
      "",
      "agent:assistant wants to call mail.send",
      "of human:alice, by human:alice, for support",
      "Because: Approval is needed to call mail.send.",
      "",
      "With exactly these arguments:",
      "  to    bob",
      "  body  Hi<U+202E>!",
      "",
      "It needs send service.messaging/human/bob.",
      "",
      "The grant grant-1 of human:alice says: for support, 3 uses",
      "  send service.messaging/human/bob (needs approval)",
      "",
      "One person has to approve. No one has so far.",
      "",
      "Approve or deny exactly this:",
      `  turnpike escalation approve q0abc --tenant acme --ask ${hash}`,
      `  turnpike escalation deny q0abc --tenant acme --ask ${hash} --reason ...`,
    ]);
  });

  test("with who approved so far where two people have to", () => {
    const approvals = [{ by: bob, at: "2026-01-01T12:05:00.000Z" }];
    const text = escalationText({ escalation: escalationOf({ approvals }), approvalsNeeded: 2 }, flags);
    expect(text).toContain("2 people have to approve. human:bob approved 2026-01-01T12:05:00.000Z.");
  });

  test("with the last events of its turn, and all of them when that is asked for", () => {
    const ids = { version: 1, executionId: "turn-1", traceId: "trace-1" } as const;
    const events = Array.from({ length: 30 }, (_, sequence) => ({
      ...ids,
      eventId: `event-${sequence}`,
      sequence,
      type: "tool.requested" as const,
      data: { tool: `tool-${sequence}` },
      occurredAt: "2026-01-01T12:00:01.000Z",
    }));
    const agent = { kind: "agent", agentId: "assistant" } as const;
    const at = "2026-01-01T12:00:00.000Z";
    const started = { startedAt: at, updatedAt: at, steps: 1, toolCalls: 30 };
    const state = { ...ids, agent, status: "waiting" as const, ...started };
    const turn = { namespaceId: "acme", actor: agent, isAsync: true, state, events };
    const shown = { escalation: escalationOf({ executionId: "turn-1" }), approvalsNeeded: 1, turn };
    const text = escalationText(shown, flags);
    expect(text).toContain("Its turn so far: turn-1 of agent:assistant is waiting.");
    expect(text).toContain("  ... 20 earlier: --full shows all.\n   1.00s  >  tool-20\n");
    expect(text).not.toContain("tool-19\n");
    expect(escalationText(shown, { ...flags, full: true })).toContain("  >  tool-0\n");
  });

  test("with no command that approves it when arguments are cut, but with the one that shows all", () => {
    const warning = "Not all of it is shown above.";
    const textOf = (body: string, full = false): string => {
      const { approval, ...rest } = escalationOf();
      const act = { kind: "tool", tool: "mail.send", arguments: { body } } as const;
      const escalation = { ...rest, ...(approval && { approval: { ...approval, act } }) };
      return escalationText({ escalation, approvalsNeeded: 1 }, { ...flags, full });
    };
    expect(textOf("x".repeat(5000)).split("\n").slice(-4)).toEqual([
      `${warning} Read the rest before you approve:`,
      "  turnpike escalation show q0abc --tenant acme --full",
      "Or deny it:",
      `  turnpike escalation deny q0abc --tenant acme --ask ${hash} --reason ...`,
    ]);
    const approve = `  turnpike escalation approve q0abc --tenant acme --ask ${hash}`;
    expect(textOf("x".repeat(5000), true).split("\n").at(-2)).toBe(`${approve} --full`);
    expect(textOf("short").split("\n").at(-2)).toBe(approve);
    expect(textOf("short")).not.toContain(warning);
  });

  test("as cut when an argument, its name, the reason or the authority is longer than what is shown", () => {
    const { approval, ...rest } = escalationOf();
    const withArguments = (args: JsonObject) => ({
      ...rest,
      ...(approval && {
        approval: { ...approval, act: { kind: "tool" as const, tool: "mail.send", arguments: args } },
      }),
    });
    const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`a${at}`, at]));
    const capabilities = (count: number) =>
      Array.from({ length: count }, (_, at) => ({
        resource: { namespace: "files", path: [`folder-${at}`] },
        actions: ["read"],
        scope: "exact" as const,
      }));
    const asking = (count: number) => ({
      ...rest,
      requestedAuthority: {
        id: "r",
        namespaceId: "acme",
        owner: alice,
        requester: rest.requester,
        purpose: "support",
        requestedAt: rest.requestedAt,
        capabilities: capabilities(count),
      },
    });
    const rows = [
      { escalation: withArguments(many(40)), isLong: false },
      { escalation: withArguments(many(41)), isLong: true },
      { escalation: withArguments({ body: "x".repeat(5000) }), isLong: true },
      { escalation: { ...withArguments({}), reason: "x".repeat(200) }, isLong: false },
      { escalation: { ...withArguments({}), reason: "x".repeat(400) }, isLong: true },
      { escalation: asking(2), isLong: false },
      { escalation: asking(40), isLong: true },
    ];
    for (const { escalation, isLong } of rows) expect(isCut({ escalation, approvalsNeeded: 1 })).toBe(isLong);
  });

  test("without commands to answer it once it is answered", () => {
    const at = "2026-01-01T12:10:00.000Z";
    const approvals = [alice, bob].map((by) => ({ by, at }));
    const answered = { decidedAt: at, permitExpiresAt: "2026-01-01T12:25:00.000Z", approvals };
    const text = escalationText(
      { escalation: escalationOf({ status: "approved", ...answered }), approvalsNeeded: 1 },
      flags,
    );
    expect(text).toMatch(
      /^q0abc of acme was approved 2026-01-01T12:10:00.000Z by human:alice and human:bob\.\nThe approval is good for one use, until 2026-01-01T12:25:00.000Z\.\n/,
    );
    expect(text).not.toMatch(/turnpike escalation (approve|deny)/);
  });

  test("without a foreign text that speaks to the terminal", () => {
    const hostile = "a\u001b[2Jb\u202ec\u200bd\r\n  to  mallory";
    const act = { kind: "tool", tool: hostile, arguments: { [hostile]: hostile } } as const;
    const escalation = escalationOf({
      reason: hostile,
      purpose: hostile,
      requester: { kind: "agent", agentId: hostile },
      approval: { act, request: { action: hostile, resource: { namespace: hostile, path: [hostile] } }, grantId: "g" },
    });
    const shown = { escalation, approvalsNeeded: 1, grant: { ...carrier, id: hostile } };
    for (const full of [false, true]) {
      const text = escalationText(shown, { ...flags, full });
      expect(text).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}\u2028\u2029]/u);
      // Its lines are where we put them: behind the gutter, or not at all.
      expect(text.split("\n").filter((line) => line.startsWith("  to"))).toEqual([]);
    }
  });
});

test("an escalation that asks for authority is shown with what an approval grants", () => {
  const { approval: _approval, ...rest } = escalationOf();
  const capabilities = [
    { resource: { namespace: "files", path: ["diary"] }, actions: ["read"], scope: "exact" as const },
  ];
  const requestedAuthority = {
    id: "r",
    namespaceId: "acme",
    owner: alice,
    requester: rest.requester,
    purpose: "support",
    requestedAt: rest.requestedAt,
    capabilities,
  };
  const escalation = { ...rest, reason: "May I?", requestedAuthority };
  const text = escalationText({ escalation, approvalsNeeded: 1 }, flags);
  expect(text).toContain("agent:assistant wants to be allowed to read files/diary\n");
  expect(text).toContain("Because: May I?");
  expect(text).not.toContain("arguments");
});

describe("an approval says", () => {
  test("what may be done with it, once and until when", () => {
    const escalation = escalationOf({ status: "approved", permitExpiresAt: "2026-01-01T12:25:00.000Z" });
    expect(approvedText({ escalation })).toBe(
      "Approved. agent:assistant may call mail.send with exactly these arguments once, until 2026-01-01T12:25:00.000Z.\n" +
        "  to    bob\n  body  Hi<U+202E>!",
    );
  });

  test("that another person has to approve, too", () => {
    expect(approvedText({ escalation: escalationOf() })).toBe(
      "Your approval is recorded. One more person has to approve, too.\n  to    bob\n  body  Hi<U+202E>!",
    );
  });
});
