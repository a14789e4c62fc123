import { attack, type Attack, type Group, type Seen, together } from "./attack.ts";
import { release, whenHeld } from "./runtime.ts";
import { http, invoke, mcp, run } from "./surfaces.ts";
import { openWorld, type Person, type World } from "./world.ts";

const ok = "200 computed";
const reach = (world: World, as: Person) => http(world, "/v1/reach", { as });

/** So many requests at once, of which some are let in and the rest told to wait. */
async function burst(send: () => Promise<Seen>): Promise<Seen> {
  const answers = await Promise.all(Array.from({ length: 120 }, send));
  const known = new Set([ok, "200", "429 rate_limited"]);
  const strange = answers.find(({ says }) => !known.has(says));
  return (
    strange ?? {
      says: answers.some(({ says }) => says.startsWith("429")) ? "some 429 rate_limited" : "all let in",
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

/** A stream of the operators' events that is open until it is left. */
async function openStream({ url, tokens }: World, as: Person) {
  const leaving = new AbortController();
  const headers = { authorization: `Bearer ${tokens[as]}`, accept: "text/event-stream" };
  const response = await fetch(`${url}/admin/v1/events?namespaceId=acme`, { headers, signal: leaving.signal });
  const text = response.ok ? "" : await response.text();
  const { error } = JSON.parse(text || "{}") as { error?: { code: string } };
  return { says: `${response.status} ${error?.code ?? ""}`.trim(), text, leave: () => leaving.abort() };
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
    "One operator sends more than they may",
    "HTTP",
    (world) => http(world, "/admin/v1/session", { as: "acmeAuditor" }),
    (world) => http(world, "/admin/v1/session", { as: "secondReviewer" }),
    "200",
  ),
  attack({
    name: "Somebody names themselves anew with each request, to have an allowance for each",
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
    name: "Somebody who is nobody sends a long body to the route that signs in",
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
    name: "An agent asks more questions than may be open",
    surface: "HTTP",
    async attack(world) {
      const asked = await Promise.all(
        [1, 2, 3, 4, 5, 6].map((amount) => invoke(world, "assistant", "bank.pay", { to: "vault", amount })),
      );
      const { says, text } = together(asked);
      return { says: `${says}; ${text.split("escalationId").length - 1} questions`, text };
    },
    held: "6 x 200 denied approval_required; 3 questions",
    leaves: ["escalations"],
    control: (world) => invoke(world, "globexAssistant", "bank.pay", { to: "vault", amount: 1 }),
    succeeds: "200 denied approval_required",
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
        "limits.eventStreams": "2",
      },
    }),
  attacks: rows,
};
