import { describe, expect, test } from "vitest";
import type { MessageEnvelope } from "../contracts/index.ts";
import type { MessageTransport } from "../kernel/index.ts";
import {
  auditSinkSuite,
  grantSourceSuite,
  memoryAudit,
  memoryGrants,
  memoryMessages,
  memoryNamespaceSettings,
  memoryUsage,
  messageTransportSuite,
  namespaceSettingsSuite,
  usageStoreSuite,
  type PortCase,
} from "./index.ts";

/** One tenant's part of what a single list keeps of all. */
function perTenantMessages(): { transport: MessageTransport; delivered(tenant: string): Promise<MessageEnvelope[]> } {
  const tenants = new Map<string, ReturnType<typeof memoryMessages>>();
  const of = (tenant: string) =>
    tenants.get(tenant) ?? tenants.set(tenant, memoryMessages()).get(tenant) ?? memoryMessages();
  return {
    transport: { deliver: (context, envelope, signal) => of(context.namespaceId).deliver(context, envelope, signal) },
    delivered: (tenant) => Promise.resolve([...of(tenant).delivered]),
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
  { name: "memoryUsage", cases: usageStoreSuite(() => Promise.resolve(memoryUsage())) },
  { name: "memoryNamespaceSettings", cases: namespaceSettingsSuite(() => Promise.resolve(memoryNamespaceSettings())) },
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
];

for (const { name, cases } of suites) {
  describe(`${name} keeps its contract`, () => {
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
    name: "a settings store that patches what the context says",
    cases: namespaceSettingsSuite(() =>
      Promise.resolve({
        applyUpdate: (context, { enable = [] }) => Promise.resolve([...context.enabledToolNamespaces, ...enable]),
      }),
    ),
    failing: "applies a patch to what is stored, not to what the context says",
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
    failing: "keeps every field of the envelope",
  },
  {
    name: "a sink that mixes tenants",
    cases: auditSinkSuite(() => {
      const sink = memoryAudit();
      return Promise.resolve({ sink, recorded: () => Promise.resolve(sink.events) });
    }),
    failing: "keeps events in the order in which they were acknowledged, and tenants apart",
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
