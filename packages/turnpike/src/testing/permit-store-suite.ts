import type { AccessContext, AuthorizationRequest } from "../contracts/index.ts";
import type { ActToApprove, PermitStore, EscalationRef } from "../kernel/index.ts";
import { expectSame, type PortCase } from "./port-case.ts";

/** An empty store, in which an approval counts 15 minutes and a denial an hour, and the answers of people. */
export interface PermitStoreUnderTest {
  permits: PermitStore;
  /** A context at 12:00 on 1 January 2026, in a tenant of its own. Its escalations wait until 13:00. */
  context: AccessContext;
  approve(escalationId: string, at: string, by: string): Promise<void> | void;
  deny(escalationId: string, at: string): Promise<void> | void;
}

const request: AuthorizationRequest = { action: "pay", resource: { namespace: "bank", path: ["bob"] } };

function payment(amount: number): ActToApprove {
  const hash = amount.toString(16).padStart(64, "0");
  return { hash, act: { kind: "tool", tool: "bank.pay", arguments: { amount } }, request, grantId: "grant-1" };
}

/** A time on the day of the suite. */
function at(time: string): string {
  return `2026-01-01T${time}.000Z`;
}

/**
 * Whether a store has approvals and denials as long as they count, and lets an approval be used once.
 *
 * @example
 * import { memoryPermits, permitStoreSuite } from "turnpike/testing";
 *
 * const permits = memoryPermits();
 * const approve = (id: string, at: string, by: string) => permits.approve(id, { at, by });
 * const deny = (id: string, at: string) => permits.deny(id, { at });
 * const [first] = permitStoreSuite(async () => ({ permits, context, approve, deny }));
 * await first?.run();
 * console.log(first !== undefined); // true
 */
export function permitStoreSuite(open: () => Promise<PermitStoreUnderTest>): PortCase[] {
  const asking = async (
    act = payment(1),
  ): Promise<PermitStoreUnderTest & { escalation: EscalationRef; act: ActToApprove }> => {
    const store = await open();
    const escalation = await store.permits.ask(store.context, act);
    if (escalation === "full") throw new Error("An empty store says that it is full.");
    return { ...store, escalation, act };
  };
  const approved = async () => {
    const asked = await asking();
    await asked.approve(asked.escalation.id, at("12:10:00"), "human:carol");
    return asked;
  };
  return [
    {
      name: "nothing is known of an act without an escalation",
      async run() {
        const { permits, context } = await open();
        expectSame(await permits.find(context.namespaceId, payment(1).hash, context.now), undefined, "nothing");
        expectSame(await permits.waiting(context, request), [], "permits that wait");
        expectSame(await permits.use(context.namespaceId, "escalation-1"), false, "the use of a permit there is not");
      },
    },
    {
      name: "an act is asked about once, however often and by however many at once",
      async run() {
        const { permits, context } = await open();
        const asked = await Promise.all(Array.from({ length: 20 }, () => permits.ask(context, payment(1))));
        expectSame(new Set(asked.map((one) => (one === "full" ? one : one.id))).size, 1, "escalations");
        const state = await permits.find(context.namespaceId, payment(1).hash, context.now);
        expectSame(state, { kind: "asked", escalation: asked[0] }, "what is known of it");
        const other = await permits.ask(context, payment(2));
        expectSame(other !== "full" && asked[0] !== "full" && other.id !== asked[0]?.id, true, "another act");
      },
    },
    {
      name: "an approval is a permit of its grant until it lapses",
      async run() {
        const { permits, context, escalation, act } = await approved();
        const permit = {
          id: escalation.id,
          grantId: "grant-1",
          approvedBy: ["human:carol"],
          expiresAt: at("12:25:00"),
        };
        const found = (time: string) => permits.find(context.namespaceId, act.hash, at(time));
        expectSame(await found("12:24:59"), { kind: "permitted", permit }, "just before it lapses");
        expectSame(await found("12:25:00"), undefined, "when it has lapsed");
        const waiting = (time: string) => permits.waiting({ ...context, now: at(time) }, request);
        expectSame(await waiting("12:24:59"), [permit], "what waits just before");
        expectSame(await waiting("12:25:00"), [], "what waits then");
      },
    },
    {
      name: "a permit waits for the actor that asked, on what it asked for, and for no other actor or resource",
      async run() {
        const { permits, context } = await approved();
        const later = { ...context, now: at("12:11:00") };
        const elsewhere = { ...request, resource: { namespace: "bank", path: ["eve"] } };
        const owned = { ...request, resource: { ...request.resource, owner: context.owner } };
        expectSame((await permits.waiting(later, request)).length, 1, "where it was asked");
        expectSame((await permits.waiting(later, owned)).length, 1, "there, with the name of its owner");
        expectSame(await permits.waiting(later, elsewhere), [], "on another resource");
        expectSame(await permits.waiting(later, { ...request, action: "read" }), [], "for another action");
        const stranger = { kind: "agent", agentId: "stranger" } as const;
        expectSame(await permits.waiting({ ...later, actor: stranger }, request), [], "for another actor");
        expectSame(await permits.waiting({ ...later, owner: stranger }, request), [], "for another owner");
        expectSame(await permits.waiting({ ...later, authority: stranger }, request), [], "on another authority");
        expectSame(await permits.waiting({ ...later, purpose: "other" }, request), [], "for another purpose");
        expectSame(await permits.waiting({ ...later, namespaceId: "elsewhere" }, request), [], "in another tenant");
      },
    },
    {
      name: "of forty who use a permit at once, one does, and it never comes back",
      async run() {
        const { permits, context, escalation, act } = await approved();
        const taken = await Promise.all(
          Array.from({ length: 40 }, () => permits.use(context.namespaceId, escalation.id)),
        );
        expectSame(taken.filter(Boolean).length, 1, "uses taken");
        expectSame(await permits.use(context.namespaceId, escalation.id), false, "one more");
        expectSame(await permits.find(context.namespaceId, act.hash, at("12:11:00")), undefined, "what is known then");
        expectSame(await permits.waiting({ ...context, now: at("12:11:00") }, request), [], "what waits then");
      },
    },
    {
      name: "a used permit can be asked for again",
      async run() {
        const { permits, context, escalation, act } = await approved();
        await permits.use(context.namespaceId, escalation.id);
        const again = await permits.ask({ ...context, now: at("12:12:00") }, act);
        expectSame(again !== "full" && again.id !== escalation.id, true, "another escalation");
      },
    },
    {
      name: "one who asks just after an answer, which they did not know, is told of it, and no person is asked again",
      async run() {
        for (const answer of ["approve", "deny"] as const) {
          const { permits, context, escalation, act, ...people } = await asking();
          await people[answer](escalation.id, at("12:10:00"), "human:carol");
          const later = { ...context, now: at("12:11:00") };
          expectSame(await permits.ask(later, act), escalation, `the escalation after "${answer}"`);
          const said = await permits.find(context.namespaceId, act.hash, at("12:11:00"));
          expectSame(said?.kind, answer === "approve" ? "permitted" : "refused", "what is known");
          const other = await permits.ask(later, { ...act, grantId: "grant-2" });
          const isNew = other !== "full" && other.id !== escalation.id;
          expectSame(isNew, answer === "approve", "another escalation, for an approval under another grant");
        }
      },
    },
    {
      name: "a denial counts for an hour",
      async run() {
        const { permits, context, escalation, act, deny } = await asking();
        await deny(escalation.id, at("12:10:00"));
        const found = (time: string) => permits.find(context.namespaceId, act.hash, at(time));
        expectSame(await found("13:09:59"), { kind: "refused", reason: "approval_denied" }, "just before its end");
        expectSame(await found("13:10:00"), undefined, "then");
        expectSame(await permits.use(context.namespaceId, escalation.id), false, "the use of a denial");
      },
    },
    {
      name: "no answer is a denial, for an hour",
      async run() {
        const { permits, context, escalation, act } = await asking();
        const found = (time: string) => permits.find(context.namespaceId, act.hash, at(time));
        expectSame(await found("12:59:59"), { kind: "asked", escalation: escalation }, "while it waits");
        expectSame(
          await found("13:00:00"),
          { kind: "refused", reason: "approval_expired" },
          "without an answer in time",
        );
        expectSame(await found("13:59:59"), { kind: "refused", reason: "approval_expired" }, "just before its end");
        expectSame(await found("14:00:00"), undefined, "then");
        expectSame(await permits.use(context.namespaceId, escalation.id), false, "the use of no answer");
      },
    },
    {
      name: "tenants never meet",
      async run() {
        const { permits, context, escalation, act } = await approved();
        expectSame(await permits.find("elsewhere", act.hash, at("12:11:00")), undefined, "the same hash elsewhere");
        expectSame(await permits.use("elsewhere", escalation.id), false, "the use of a permit of another tenant");
        expectSame(await permits.use(context.namespaceId, escalation.id), true, "one's own");
      },
    },
  ];
}
