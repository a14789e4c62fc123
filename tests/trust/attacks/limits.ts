import { eventually } from "../../../packages/host/test/host-calls.ts";
import { attack, type Attack, type Group, type Seen, together } from "./attack.ts";
import { release, whenHeld } from "./runtime.ts";
import { answerTo, http, invoke, openStream, run } from "./surfaces.ts";
import { type Caller, newAssistant, openWorld, type World } from "./world.ts";

/** Starts turns that hold on, so many that no more may run; `end` lets them go. */
async function hold(world: World, as: Caller, count: number) {
  const names = Array.from({ length: count }, () => world.fresh("hold"));
  const running = Promise.all(names.map((holds) => run(world, as, { holds })));
  const early = running.then((ended) => {
    throw new Error(`They hold no longer: ${together(ended).says}`);
  });
  await Promise.race([whenHeld(names), early]);
  return async () => {
    early.catch(() => {});
    for (const name of names) release(name);
    await running;
  };
}

/** Starts a turn that asks a person, with so much in its message. */
function startWaiting(world: World, as: Caller, filling = ""): Promise<Seen> {
  const calls = [{ tool: "service.escalate", arguments: { reason: "Shall it go on?" } }];
  return run(world, as, { calls, filling }, { headers: { prefer: "respond-async" } });
}

/** The turns of a caller that wait, once there are so many. */
function waiting(world: World, as: Caller, count: number): Promise<readonly { executionId: string }[]> {
  return eventually(async () => {
    const { body } = await answerTo(world, "/v1/turns?status=waiting", { as });
    const { turns } = body as { turns: { executionId: string }[] };
    if (turns.length < count) throw new Error(`${turns.length} turns wait.`);
    return turns;
  });
}

/** So many turns of a caller, which wait one after the other; what the last start was told. */
async function letWait(world: World, as: Caller, count: number): Promise<Seen> {
  let seen: Seen = { says: "", text: "" };
  for (let place = 1; place <= count; place += 1) {
    await eventually(async () => {
      seen = await startWaiting(world, as);
      if (!seen.says.startsWith("202")) throw new Error(`The turn is not started: ${seen.says}.`);
    });
    await waiting(world, as, place);
  }
  return seen;
}

/** The same in a tenant of its own. */
async function anotherWaits(world: World): Promise<Seen> {
  return letWait(world, await newAssistant(world), 1);
}

/** As many streams of a caller as there may be, and the opening of one more. */
async function openTwo(open: () => ReturnType<typeof openStream>) {
  const streams = [await open(), await open()];
  for (const { says } of streams) if (says !== "200") throw new Error(`A stream could not be opened: ${says}.`);
  return { open, streams };
}

type Opened = Awaited<ReturnType<typeof openTwo>>;

/** Opens a stream of another caller, beside those of the first, and leaves them all. */
async function openOther({ streams }: Opened, opening: ReturnType<typeof openStream>): Promise<Seen> {
  const other = await opening;
  for (const { leave } of [...streams, other]) leave();
  return other;
}

const rows: readonly Attack[] = [
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
    async prepare(world) {
      const as = await newAssistant(world);
      return { as, end: await hold(world, as, 2) };
    },
    attack: (world, { as }) => run(world, as, {}),
    held: "503 overloaded",
    // Those that hold are still being written down.
    leaves: ["turns"],
    async control(world, { end }) {
      const other = await run(world, await newAssistant(world), {});
      await end();
      return other;
    },
    succeeds: "200 succeeded",
  }),
  attack({
    name: "An agent opens more escalations than it may",
    surface: "HTTP",
    prepare: newAssistant,
    async attack(world, as) {
      const asked = await Promise.all(
        [1, 2, 3, 4, 5, 6].map((amount) => invoke(world, as, "bank.pay", { to: "vault", amount })),
      );
      const { says, text } = together(asked);
      return { says: `${says}; ${text.split("escalationId").length - 1} escalations`, text };
    },
    held: "6 x 200 denied approval_required; 3 escalations",
    leaves: ["escalations"],
    control: async (world) => invoke(world, await newAssistant(world), "bank.pay", { to: "vault", amount: 1 }),
    succeeds: "200 denied approval_required",
  }),
  attack({
    name: "An agent leaves more turns waiting than may be open",
    surface: "HTTP",
    async prepare(world) {
      const as = await newAssistant(world);
      await letWait(world, as, 3);
      return as;
    },
    attack: startWaiting,
    held: "429 rate_limited",
    control: anotherWaits,
    succeeds: "202 running",
  }),
  attack({
    name: "An agent leaves turns waiting that hold more than they may",
    surface: "HTTP",
    prepare: newAssistant,
    attack: (world, as) => startWaiting(world, as, "x".repeat(300_000)),
    held: "429 rate_limited",
    control: anotherWaits,
    succeeds: "202 running",
  }),
  attack({
    name: "A caller opens more streams of turns than they may",
    surface: "HTTP",
    async prepare(world) {
      const as = await newAssistant(world);
      await letWait(world, as, 1);
      const [turn] = await waiting(world, as, 1);
      return openTwo(() => openStream(world, as, `/v1/turns/${turn?.executionId}/events`));
    },
    attack: (_world, { open }) => open(),
    held: "429 rate_limited",
    control(_world, { open, streams }) {
      streams[0]?.leave();
      return eventually(async () => {
        const again = await open();
        if (again.says !== "200") throw new Error("The slot of the stream that was left is not free yet.");
        for (const { leave } of [...streams, again]) leave();
        return again;
      });
    },
    succeeds: "200",
  }),
  attack({
    name: "A client listens on more streams than its credential may open",
    surface: "MCP",
    prepare: (world) => openTwo(() => openStream(world, "bob", "/mcp")),
    attack: (_world, { open }) => open(),
    held: "429 rate_limited",
    control: (world, opened) => openOther(opened, openStream(world, "globexAlice", "/mcp")),
    succeeds: "200",
  }),
  attack({
    name: "An operator opens more streams of events than they may",
    surface: "console",
    prepare: (world) => openTwo(() => openStream(world, "acmeAdmin")),
    attack: (_world, { open }) => open(),
    held: "429 rate_limited",
    control: (world, opened) => openOther(opened, openStream(world, "acmeReviewer")),
    succeeds: "200",
  }),
];

/** Each attack has a tenant, or a credential, of its own: they may come in any order. */
export const limits: Group = {
  name: "limits",
  open: () =>
    openWorld({
      flags: {
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
