import { eventually } from "../../../packages/host/test/host-calls.ts";
import { attack, type Attack, type Group, type Seen, together } from "./attack.ts";
import { release, whenHeld } from "./runtime.ts";
import { answerTo, http, invoke, mcp, openStream, run } from "./surfaces.ts";
import { openWorld, type Person, type World } from "./world.ts";

const ok = "200 computed";
const reach = (world: World, as: Person) => http(world, "/v1/reach", { as });

/** So many requests at once, of which some are admitted and the rest told to wait. */
async function burst(send: () => Promise<Seen>): Promise<Seen> {
  const answers = await Promise.all(Array.from({ length: 120 }, send));
  const known = new Set([ok, "200", "429 rate_limited"]);
  const strange = answers.find(({ says }) => !known.has(says));
  return (
    strange ?? {
      says: answers.some(({ says }) => says.startsWith("429")) ? "some 429 rate_limited" : "all admitted",
      text: "",
    }
  );
}

/** What is refused when one credential sends too much, beside another that is served. */
function bursting(
  name: string,
  surface: Attack["surface"],
  send: (world: World) => Promise<Seen>,
  other: (world: World) => Promise<Seen>,
  succeeds: string,
): Attack {
  return attack({
    name,
    surface,
    attack: (world) => burst(() => send(world)),
    held: "some 429 rate_limited",
    control: other,
    succeeds,
  });
}

/** Starts turns that hold on, so many that no more may run; `end` lets them go. */
async function hold(world: World, count: number) {
  const names = Array.from({ length: count }, () => world.fresh("hold"));
  const running = Promise.all(names.map((holds) => run(world, "assistant", { holds })));
  await whenHeld(names);
  return async () => {
    for (const name of names) release(name);
    await running;
  };
}

/** Starts a turn that asks a person, with so much in its message. */
function startWaiting(world: World, as: Person, filling = ""): Promise<Seen> {
  const calls = [{ tool: "service.escalate", arguments: { reason: "Shall it go on?" } }];
  return run(world, as, { calls, filling }, { headers: { prefer: "respond-async" } });
}

/** Resolves when so many turns of a caller wait. */
function waiting(world: World, as: Person, count: number): Promise<void> {
  return eventually(async () => {
    const { body } = await answerTo(world, "/v1/turns?status=waiting", { as });
    const { turns } = body as { turns: unknown[] };
    if (turns.length < count) throw new Error(`${turns.length} turns wait.`);
  });
}

const rows: readonly Attack[] = [
  bursting(
    "One credential sends more than it may",
    "HTTP",
    (world) => reach(world, "bob"),
    (world) => reach(world, "helper"),
    ok,
  ),
  bursting(
    "One credential sends more than it may, through MCP",
    "MCP",
    (world) => mcp(world, "alice", "tools/list", {}),
    (world) => reach(world, "globexAlice"),
    ok,
  ),
  bursting(
    "One credential asks who it is more often than it may send requests",
    "HTTP",
    (world) => http(world, "/whoami", { as: "bob" }),
    (world) => http(world, "/whoami", { as: "helper" }),
    "200",
  ),
  bursting(
    "One operator sends more than they may",
    "HTTP",
    (world) => http(world, "/admin/v1/session", { as: "acmeAuditor" }),
    (world) => http(world, "/admin/v1/session", { as: "secondReviewer" }),
    "200",
  ),
  attack({
    name: "An attacker names themselves anew with each request, to have an allowance for each",
    surface: "HTTP",
    attack: (world) =>
      burst(() =>
        http(world, "/v1/reach", {
          as: "bob",
          headers: {
            "x-forwarded-for": world.fresh("10.0.0."),
            "x-trace-id": world.fresh("trace"),
            "x-authority": `human:${world.fresh()}`,
          },
        }),
      ),
    held: "some 429 rate_limited",
    control: (world) => reach(world, "helper"),
    succeeds: ok,
  }),
  attack({
    name: "A stranger without a credential sends a long body to the route that signs in",
    surface: "HTTP",
    attack: (world) => http(world, "/admin/v1/sessions", { body: { code: "x".repeat(20_000) } }),
    held: "413 payload_too_large",
    control: (world) => http(world, "/admin/v1/sessions", { body: { token: world.tokens.globexAdmin } }),
    succeeds: "201",
  }),
  attack({
    name: "One credential starts more turns at once than it may",
    surface: "HTTP",
    prepare: (world) => hold(world, 2),
    attack: (world) => run(world, "assistant", {}),
    held: "503 overloaded",
    // Those that hold are still being written down.
    leaves: ["turns"],
    async control(world, end) {
      const other = await run(world, "globexAssistant", {});
      await end();
      return other;
    },
    succeeds: "200 succeeded",
  }),
  attack({
    name: "An agent opens more escalations than it may",
    surface: "HTTP",
    async attack(world) {
      const asked = await Promise.all(
        [1, 2, 3, 4, 5, 6].map((amount) => invoke(world, "assistant", "bank.pay", { to: "vault", amount })),
      );
      const { says, text } = together(asked);
      return { says: `${says}; ${text.split("escalationId").length - 1} escalations`, text };
    },
    held: "6 x 200 denied approval_required; 3 escalations",
    leaves: ["escalations"],
    control: (world) => invoke(world, "globexAssistant", "bank.pay", { to: "vault", amount: 1 }),
    succeeds: "200 denied approval_required",
  }),
  attack({
    name: "An agent leaves more turns waiting than may be open",
    surface: "HTTP",
    async prepare(world) {
      for (const place of [1, 2, 3]) {
        await startWaiting(world, "globexAssistant");
        await waiting(world, "globexAssistant", place);
      }
    },
    attack: (world) => startWaiting(world, "globexAssistant"),
    held: "429 rate_limited",
    control: (world) => startWaiting(world, "assistant"),
    succeeds: "202 running",
  }),
  attack({
    name: "An agent leaves turns waiting that hold more than they may",
    surface: "HTTP",
    // The turn of the row before is still being written down.
    leaves: ["turns", "escalations"],
    attack: (world) => startWaiting(world, "assistant", "x".repeat(300_000)),
    held: "429 rate_limited",
    control: (world) => startWaiting(world, "assistant"),
    succeeds: "202 running",
  }),
  attack({
    name: "A caller opens more streams of turns than they may",
    surface: "HTTP",
    async prepare(world) {
      // Turns of the row before, which wait.
      const { body } = await answerTo(world, "/v1/turns?status=waiting", { as: "globexAssistant" });
      const path = `/v1/turns/${(body as { turns: { executionId: string }[] }).turns[0]?.executionId}/events`;
      const follow = () => openStream(world, "globexAssistant", path);
      return { follow, open: [await follow(), await follow()] };
    },
    attack: (_world, { follow }) => follow(),
    held: "429 rate_limited",
    // Other turns of the row before may come to their escalation meanwhile; following one changes none.
    leaves: ["turns"],
    async control(_world, { follow, open }) {
      open[0]?.leave();
      let again = await follow();
      await eventually(async () => {
        if (again.says !== "200") again = await follow();
        if (again.says !== "200") throw new Error("The slot of the stream that was left is not free yet.");
      });
      for (const { leave } of [...open, again]) leave();
      return again;
    },
    succeeds: "200",
  }),
  attack({
    name: "A client listens on more streams than its credential may open",
    surface: "MCP",
    async prepare(world) {
      const listen = () => openStream(world, "bob", "/mcp");
      return { listen, open: [await listen(), await listen()] };
    },
    attack: (_world, { listen }) => listen(),
    held: "429 rate_limited",
    async control(world, { open }) {
      const other = await openStream(world, "globexAlice", "/mcp");
      for (const { leave } of [...open, other]) leave();
      return other;
    },
    succeeds: "200",
  }),
  attack({
    name: "An operator opens more streams of events than they may",
    surface: "console",
    prepare: async (world) => [await openStream(world, "acmeAdmin"), await openStream(world, "acmeAdmin")],
    attack: (world) => openStream(world, "acmeAdmin"),
    held: "429 rate_limited",
    async control(world, open) {
      const other = await openStream(world, "acmeReviewer");
      for (const { leave } of [...open, other]) leave();
      return other;
    },
    succeeds: "200",
  }),
];

export const limits: Group = {
  name: "limits",
  open: () =>
    openWorld({
      flags: {
        "limits.requestsPerSecond": "1",
        "limits.burst": "60",
        "limits.concurrentTurns": "4",
        "limits.tenantTurns": "3",
        "limits.credentialTurns": "2",
        "limits.openEscalations": "3",
        "limits.openTurns": "3",
        "limits.openTurnBytes": "200000",
        "limits.callerStreams": "2",
        "limits.eventStreams": "2",
      },
    }),
  attacks: rows,
};
