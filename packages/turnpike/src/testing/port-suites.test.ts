import { describe, expect, test } from "vitest";
import type { AccessContext, MessageEnvelope } from "../contracts/index.ts";
import { untyped } from "../../test/deployment.ts";
import type { AccessGuard, ActStore, BudgetStore, MessageTransport } from "../kernel/index.ts";
import type { TurnJournal, TurnKey, RunWriter } from "../runtime/index.ts";
import {
  accessGuardSuite,
  actStoreSuite,
  auditSinkSuite,
  budgetStoreSuite,
  grantSourceSuite,
  memoryAccess,
  memoryActs,
  memoryAudit,
  memoryBudgets,
  memoryGrants,
  memoryMessages,
  memoryNamespaceSettings,
  memoryPermits,
  memoryTurnJournal,
  memoryUsage,
  messageTransportSuite,
  namespaceSettingsSuite,
  permitStoreSuite,
  turnJournalSuite,
  usageStoreSuite,
  type PortCase,
} from "./index.ts";

/** One tenant's part of a single list of all. */
function perTenantMessages(): { transport: MessageTransport; delivered(tenant: string): Promise<MessageEnvelope[]> } {
  const tenants = new Map<string, ReturnType<typeof memoryMessages>>();
  const of = (tenant: string) =>
    tenants.get(tenant) ?? tenants.set(tenant, memoryMessages()).get(tenant) ?? memoryMessages();
  return {
    transport: { deliver: (context, envelope, signal) => of(context.namespaceId).deliver(context, envelope, signal) },
    delivered: (tenant) => Promise.resolve([...of(tenant).delivered]),
  };
}

function accessOf(agentId: string): AccessContext {
  const alice = { kind: "human", userId: "alice" } as const;
  return {
    actor: { kind: "agent", agentId },
    authority: alice,
    enabledToolNamespaces: ["files", "mail"],
    namespaceId: "tenant-1",
    now: "2026-01-01T12:00:00Z",
    owner: alice,
    purpose: "access",
    traceId: "trace-1",
  };
}

const suites: { name: string; cases: PortCase[] }[] = [
  {
    name: "memoryGrants",
    cases: grantSourceSuite((grants) => {
      const source = memoryGrants(grants);
      return Promise.resolve({ source, revoke: source.revoke.bind(source) });
    }),
  },
  { name: "memoryActs", cases: actStoreSuite(() => Promise.resolve(memoryActs())) },
  { name: "memoryBudgets", cases: budgetStoreSuite(() => Promise.resolve(memoryBudgets())) },
  { name: "memoryUsage", cases: usageStoreSuite(() => Promise.resolve(memoryUsage())) },
  {
    name: "memoryPermits",
    cases: permitStoreSuite(() => {
      const permits = memoryPermits({ escalationMs: 3_600_000 });
      return Promise.resolve({
        permits,
        context: accessOf("helper"),
        approve: (id, at, by) => permits.approve(id, { at, by }),
        deny: (id, at) => permits.deny(id, { at }),
      });
    }),
  },
  { name: "memoryNamespaceSettings", cases: namespaceSettingsSuite(() => Promise.resolve(memoryNamespaceSettings())) },
  {
    name: "memoryAccess",
    cases: accessGuardSuite(() => {
      const guard = memoryAccess();
      const context = accessOf("helper");
      return Promise.resolve({
        guard,
        context,
        other: accessOf("other"),
        revoke: () => guard.revoke(context),
        switchTo: (namespaces) => guard.switchTo(context, namespaces),
      });
    }),
  },
  { name: "memoryMessages", cases: messageTransportSuite(() => Promise.resolve(perTenantMessages())) },
  {
    name: "memoryAudit",
    cases: auditSinkSuite(() => {
      const sink = memoryAudit();
      const recorded = (tenant: string) =>
        Promise.resolve(sink.events.filter(({ namespaceId }) => namespaceId === tenant));
      return Promise.resolve({ sink, recorded });
    }),
  },
  {
    name: "memoryTurnJournal",
    cases: turnJournalSuite(() => {
      const journal = memoryTurnJournal();
      return Promise.resolve({ journal, take: journal.take, answer: journal.answer });
    }),
  },
];

for (const { name, cases } of suites) {
  describe(`${name} fulfils its contract`, () => {
    for (const one of cases) test(one.name, () => expect(one.run()).resolves.toBeUndefined());
  });
}

const broken: { name: string; cases: PortCase[]; failing: string }[] = [
  {
    name: "a grant source that returns a superset",
    cases: grantSourceSuite((grants) =>
      Promise.resolve({ source: { load: () => Promise.resolve(grants) }, revoke: () => undefined }),
    ),
    failing: "loads the grants of this actor from this issuer in this tenant, and no others",
  },
  {
    name: "a store of budgets that reads, waits and reserves",
    failing: "gives a hundred callers at once no more than there is",
    cases: budgetStoreSuite(() => {
      const store = memoryBudgets();
      const reserve: BudgetStore["reserve"] = async (id, reservations, now) => {
        const sums = await store.read(reservations, now);
        const fits = reservations.every(({ amount, limit }, place) => (sums[place]?.taken ?? 0n) + amount <= limit);
        return (
          fits &&
          store.reserve(
            id,
            reservations.map((one) => ({ ...one, limit: 10n ** 18n })),
            now,
          )
        );
      };
      return Promise.resolve({ ...store, reserve });
    }),
  },
  {
    name: "a usage store that reads, waits and writes",
    cases: usageStoreSuite(() => {
      let used = 0;
      return Promise.resolve({
        used: () => Promise.resolve(used),
        async consume(_tenant, _grant, maxUses) {
          const before = used;
          await Promise.resolve();
          used = before + 1;
          return before < maxUses;
        },
      });
    }),
    failing: "a hundred consumers at once get exactly the ten uses there are",
  },
  {
    name: "a store of acts that reads, decides and writes",
    cases: actStoreSuite(() => {
      const begun = new Set<string>();
      const begin: ActStore["begin"] = async ({ id }, _act, decide) => {
        if (begun.has(id) || (await decide(undefined)) === undefined) return { kind: "refused" };
        begun.add(id);
        return { kind: "begun" };
      };
      return Promise.resolve({ ...memoryActs(), begin });
    }),
    failing: "of ten who begin an act at once, one does",
  },
  {
    name: "a settings store that patches what the context says",
    cases: namespaceSettingsSuite(() =>
      Promise.resolve({
        applyUpdate: (context, { enable = [] }) => Promise.resolve([...context.enabledToolNamespaces, ...enable]),
      }),
    ),
    failing: "applies a patch to what is stored, not to what the context says",
  },
  {
    name: "a guard that takes every access for active, as the context says",
    cases: accessGuardSuite(() => {
      const guard: AccessGuard = {
        check: ({ enabledToolNamespaces }) => Promise.resolve({ isActive: true, enabledToolNamespaces }),
      };
      const nothing = (): void => {};
      const [context, other] = [accessOf("helper"), accessOf("other")];
      return Promise.resolve({ guard, context, other, revoke: nothing, switchTo: nothing });
    }),
    failing: "a revoked access is no longer active, and every other access is",
  },
  {
    name: "a transport that drops messages",
    cases: messageTransportSuite(() =>
      Promise.resolve({
        transport: {
          deliver: (context, { id }) => Promise.resolve({ status: "accepted", messageId: id, timestamp: context.now }),
        },
        delivered: () => Promise.resolve([]),
      }),
    ),
    failing: "stores every field of the envelope",
  },
  {
    name: "a sink that mixes tenants",
    cases: auditSinkSuite(() => {
      const sink = memoryAudit();
      return Promise.resolve({ sink, recorded: () => Promise.resolve(sink.events) });
    }),
    failing: "stores events in the order in which they were acknowledged, and separates tenants",
  },
  {
    name: "a journal without fences",
    cases: turnJournalSuite(() => {
      const journal = memoryTurnJournal();
      const writers = new Map<string, RunWriter>();
      const begin: TurnJournal["begin"] = async (turn, call) => {
        const begun = await journal.begin(turn, call);
        if (begun.kind === "begun") writers.set(turn.request.executionId, begun.writer);
        return begun;
      };
      const take = ({ executionId }: TurnKey): RunWriter => writers.get(executionId) ?? untyped(undefined);
      return Promise.resolve({ journal: { ...journal, begin }, take, answer: journal.answer });
    }),
    failing: "a run that lost its turn is told to pause, and writes nothing any more",
  },
];

describe("the suites can fail", () => {
  for (const { name, cases, failing } of broken) {
    test(`on ${name}`, async () => {
      const one = cases.find((candidate) => candidate.name === failing);
      await expect(one?.run()).rejects.toThrow("expected");
    });
  }
});
