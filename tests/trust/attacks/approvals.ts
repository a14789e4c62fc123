import { attack, type Attack, type Group, type Seen, together } from "./attack.ts";
import { admin, answerTo, change, http, invoke, makeCredential, run } from "./surfaces.ts";
import { alice, assistant, carol, openWorld, type Person, type World } from "./world.ts";

interface Asked {
  namespaceId: string;
  id: string;
  ask: string;
}

let amounts = 0;

/** An amount that no one asked about before. */
function freshAmount(): number {
  amounts += 1;
  return amounts;
}

const pay = (world: World, amount: number, to = "vault") => invoke(world, "assistant", "bank.pay", { to, amount });

/** Asks for a payment out of the vault, and returns the amount and the escalation that is open. */
async function asked(world: World): Promise<{ amount: number; escalation: Asked }> {
  const amount = freshAmount();
  const body = {
    id: world.fresh("call"),
    tool: "bank.pay",
    arguments: { to: "vault", amount },
    requestedAt: "2026-01-01T00:00:00Z",
    traceId: "t",
  };
  const answer = await answerTo(world, "/v1/tools/invoke", { as: "assistant", headers: { "x-trace-id": "t" }, body });
  const { details } = (answer.body as { error: { details: { escalationId: string; requestHash: string } } }).error;
  return { amount, escalation: { namespaceId: "acme", id: details.escalationId, ask: details.requestHash } };
}

/** Requests authority without an end, and returns the escalation that is open. */
async function requested(world: World): Promise<Asked> {
  const resource = { namespace: "files", path: [world.fresh("diary")] };
  const id = world.fresh("request");
  const wanted = {
    id,
    namespaceId: "acme",
    requester: assistant,
    owner: alice,
    purpose: "support",
    capabilities: [{ resource, actions: ["read"], scope: "exact" }],
    requestedAt: "2026-01-01T00:00:00Z",
  };
  await run(world, "assistant", { escalate: { reason: id, requestedAuthority: wanted } });
  const { body } = await answerTo(world, "/admin/v1/escalations?namespaceId=acme&limit=500", { as: "admin" });
  const found = (body as { escalations: (Asked & { reason: string })[] }).escalations.find(
    ({ reason }) => reason === id,
  );
  if (found === undefined) throw new Error("The turn opened no escalation.");
  return { namespaceId: "acme", id: found.id, ask: found.ask };
}

const approve = (world: World, escalation: object, as: Person = "acmeReviewer") =>
  admin(world, "escalations/approve", escalation, as);

/** A payment for which both people approved. */
async function approved(world: World) {
  const made = await asked(world);
  await approve(world, made.escalation);
  await approve(world, made.escalation, "secondReviewer");
  return made;
}

/** Two answers, one after the other. */
async function inTurn(one: Promise<Seen>, next: () => Promise<Seen>): Promise<Seen> {
  const first = await one;
  const second = await next();
  return { says: `${first.says}, then ${second.says}`, text: first.text + second.text };
}

const waits = "200 denied approval_required";
const paid = "200 succeeded";

const rows: readonly Attack[] = [
  attack({
    name: "An agent acts before an operator approved",
    surface: "HTTP",
    prepare: () => Promise.resolve(freshAmount()),
    attack: (world, amount) => pay(world, amount),
    held: waits,
    leaves: ["escalations"],
    control: async (world) => pay(world, (await approved(world)).amount),
    succeeds: paid,
  }),
  attack({
    name: "An agent changes the amount after the approval",
    surface: "HTTP",
    prepare: approved,
    attack: (world, { amount }) => pay(world, amount + 1_000_000),
    held: waits,
    leaves: ["escalations"],
    control: (world, { amount }) => pay(world, amount),
    succeeds: paid,
  }),
  attack({
    name: "An agent writes the approved amount another way, as if it were another act",
    surface: "HTTP",
    prepare: approved,
    attack: (world, { amount }) => invoke(world, "assistant", "bank.pay", { to: "vault ", amount }),
    held: "200 denied no_matching_grant",
    control: (world, { amount }) => pay(world, amount),
    succeeds: paid,
  }),
  attack({
    name: "An agent uses one approval twice",
    surface: "HTTP",
    async prepare(world) {
      const made = await approved(world);
      await pay(world, made.amount);
      return made;
    },
    attack: (world, { amount }) => pay(world, amount),
    held: waits,
    leaves: ["escalations"],
    control: async (world) => pay(world, (await approved(world)).amount),
    succeeds: paid,
  }),
  attack({
    name: "Forty calls race for one approval",
    surface: "HTTP",
    prepare: approved,
    attack: async (world, { amount }) =>
      together(await Promise.all(Array.from({ length: 40 }, () => pay(world, amount)))),
    held: `39 x ${waits}, 1 x ${paid}`,
    leaves: ["escalations", "replay", "uses"],
    payments: 1,
    control: async (world) => pay(world, (await approved(world)).amount),
    succeeds: paid,
  }),
  attack({
    name: "An agent uses the approval under another purpose",
    surface: "HTTP",
    prepare: approved,
    attack: (world, { amount }) =>
      invoke(world, "assistant", "bank.pay", { to: "vault", amount }, { headers: { "x-purpose": "billing" } }),
    held: waits,
    leaves: ["escalations"],
    control: (world, { amount }) => pay(world, amount),
    succeeds: paid,
  }),
  attack({
    name: "A reviewer approves another content than the one that waits",
    surface: "HTTP",
    async prepare(world) {
      return { one: await asked(world), other: await asked(world) };
    },
    attack: (world, { one, other }) => approve(world, { ...one.escalation, ask: other.escalation.ask }),
    held: "409 conflict",
    control: (world, { one }) => approve(world, one.escalation),
    succeeds: "200",
  }),
  attack({
    name: "One person approves twice, with two credentials, where two people have to",
    surface: "HTTP",
    async prepare(world) {
      const made = await asked(world);
      await approve(world, made.escalation);
      return made;
    },
    attack: (world, { escalation, amount }) =>
      inTurn(approve(world, escalation, "acmeAdmin"), () => pay(world, amount)),
    held: `409 conflict, then ${waits}`,
    control: (world, { escalation, amount }) =>
      inTurn(approve(world, escalation, "secondReviewer"), () => pay(world, amount)),
    succeeds: `200, then ${paid}`,
  }),
  attack({
    name: "One approval is taken for two",
    surface: "HTTP",
    async prepare(world) {
      const made = await asked(world);
      await approve(world, made.escalation);
      return made;
    },
    attack: (world, { amount }) => pay(world, amount),
    held: waits,
    control: (world, { escalation, amount }) =>
      inTurn(approve(world, escalation, "secondReviewer"), () => pay(world, amount)),
    succeeds: `200, then ${paid}`,
  }),
  attack({
    name: "An attacker approves an act of their own",
    surface: "HTTP",
    async prepare(world) {
      const access = {
        actor: { kind: "agent", agentId: "assistant" },
        owner: carol,
        purposes: ["operate"],
        admin: true,
        role: "reviewer",
        tenant: "acme",
      };
      const { token } = await makeCredential(world, { namespaceId: "operators", access });
      return { ...(await asked(world)), token };
    },
    attack: async (world, { escalation, token }) => {
      const answer = await answerTo(world, "/admin/v1/escalations/approve", { token, body: escalation });
      return {
        says: `${answer.status} ${(answer.body as { error?: { code: string } }).error?.code ?? ""}`,
        text: answer.text,
      };
    },
    held: "403 permission_denied",
    control: (world, { escalation }) => approve(world, escalation),
    succeeds: "200",
  }),
  attack({
    name: "An auditor, who only reads, approves an act",
    surface: "HTTP",
    prepare: asked,
    attack: (world, { escalation }) => approve(world, escalation, "acmeAuditor"),
    held: "403 permission_denied",
    control: (world, { escalation }) => approve(world, escalation),
    succeeds: "200",
  }),
  attack({
    name: "A reviewer of another tenant approves an act",
    surface: "HTTP",
    prepare: asked,
    attack: (world, { escalation }) => approve(world, escalation, "globexAdmin"),
    held: "403 permission_denied",
    control: (world, { escalation }) => approve(world, escalation),
    succeeds: "200",
  }),
  attack({
    name: "A reviewer of another tenant approves an act and names their own tenant",
    surface: "HTTP",
    prepare: asked,
    attack: (world, { escalation }) => approve(world, { ...escalation, namespaceId: "globex" }, "globexAdmin"),
    held: "404 not_found",
    control: (world, { escalation }) => approve(world, escalation),
    succeeds: "200",
  }),
  attack({
    name: "The agent answers its own escalation with its own token",
    surface: "HTTP",
    prepare: asked,
    attack: (world, { escalation }) => approve(world, escalation, "assistant"),
    held: "403 permission_denied",
    control: (world, { escalation }) => approve(world, escalation),
    succeeds: "200",
  }),
  attack({
    name: "An attacker turns a denial into an approval afterwards",
    surface: "HTTP",
    async prepare(world) {
      const made = await asked(world);
      await change(world, "escalations/deny", { ...made.escalation, reason: "No." });
      return made;
    },
    attack: (world, { escalation, amount }) => inTurn(approve(world, escalation), () => pay(world, amount)),
    held: "409 conflict, then 200 denied approval_denied",
    control: async (world) => approve(world, (await asked(world)).escalation),
    succeeds: "200",
  }),
  attack({
    name: "An agent uses an approval whose grant was revoked meanwhile",
    surface: "HTTP",
    async prepare(world) {
      const id = await issueVault(world);
      const amount = freshAmount();
      const escalation = await askOf(world, id, amount);
      for (const as of ["acmeReviewer", "secondReviewer"] as const) await approve(world, escalation, as);
      await change(world, "grants/revoke", { namespaceId: "acme", id });
      return { to: id, amount };
    },
    attack: (world, { to, amount }) => pay(world, amount, to),
    held: "200 denied no_matching_grant",
    control: async (world) => pay(world, (await approved(world)).amount),
    succeeds: paid,
  }),
  attack({
    name: "An act is approved although its grant was revoked while it waited",
    surface: "HTTP",
    async prepare(world) {
      const id = await issueVault(world);
      const escalation = await askOf(world, id, freshAmount());
      await approve(world, escalation);
      await change(world, "grants/revoke", { namespaceId: "acme", id });
      return escalation;
    },
    attack: (world, escalation) => approve(world, escalation, "secondReviewer"),
    held: "409 conflict",
    async control(world) {
      const { escalation } = await asked(world);
      return inTurn(approve(world, escalation), () => approve(world, escalation, "secondReviewer"));
    },
    succeeds: "200, then 200",
  }),
  attack({
    name: "An attacker with a stolen token asks for a payment, and its approval comes after its revocation",
    surface: "HTTP",
    async prepare(world) {
      const stolen = await makeCredential(world, { namespaceId: "acme", access: assistantAccess });
      const amount = freshAmount();
      const escalation = escalationIn(
        await invoke(world, "assistant", "bank.pay", { to: "vault", amount }, { token: stolen.token }),
      );
      await change(world, "credentials/revoke", { id: stolen.id });
      return { escalation, amount };
    },
    attack: (world, { escalation, amount }) => inTurn(approve(world, escalation), () => pay(world, amount)),
    held: `409 conflict, then ${waits}`,
    leaves: ["escalations"],
    control: async (world) => approve(world, (await asked(world)).escalation),
    succeeds: "200",
  }),
  attack({
    name: "A reviewer makes an approval last for longer than the grant",
    surface: "HTTP",
    prepare: asked,
    attack: (world, { escalation }) => approve(world, { ...escalation, expiresAt: "2026-01-01T00:00:00Z" }),
    held: "400 invalid_request",
    control: (world, { escalation }) =>
      approve(world, { ...escalation, expiresAt: new Date(Date.now() + 60_000).toISOString() }),
    succeeds: "200",
  }),
  attack({
    name: "An admin tries a payment as the agent, and approves it with another credential of theirs",
    surface: "HTTP",
    prepare: tried,
    attack: (world, { escalation }) => approve(world, escalation),
    held: "403 permission_denied",
    control: (world, { escalation }) => approve(world, escalation, "secondReviewer"),
    succeeds: "200",
  }),
  attack({
    name: "A reviewer approves first and tries the payment then, for their approval to count",
    surface: "HTTP",
    async prepare(world) {
      const made = await asked(world);
      await approve(world, made.escalation);
      await tryPayment(world, made.amount);
      return made;
    },
    attack: (world, { escalation, amount }) =>
      inTurn(approve(world, escalation, "secondReviewer"), () => pay(world, amount)),
    held: `200, then ${waits}`,
    leaves: ["escalations"],
    control: async (world) => pay(world, (await approved(world)).amount),
    succeeds: paid,
  }),
  attack({
    name: "A reviewer dates an approval to the year 9999",
    surface: "HTTP",
    prepare: asked,
    attack: (world, { escalation }) => approve(world, { ...escalation, expiresAt: "9999-12-31T23:59:59Z" }),
    held: "400 invalid_request",
    control: (world, { escalation }) =>
      approve(world, { ...escalation, expiresAt: new Date(Date.now() + 82_800_000).toISOString() }),
    succeeds: "200",
  }),
  attack({
    name: "A reviewer lets authority that was requested without an end last until the year 9999",
    surface: "HTTP",
    prepare: requested,
    attack: (world, escalation) => approve(world, { ...escalation, expiresAt: "9999-12-31T23:59:59Z" }),
    held: "400 invalid_request",
    control: (world, escalation) =>
      approve(world, { ...escalation, expiresAt: new Date(Date.now() + 82_800_000).toISOString() }),
    succeeds: "200",
  }),
  attack({
    name: "The first approval of another party whose credential was revoked counts when the second one comes",
    surface: "HTTP",
    async prepare(world) {
      const made = await asked(world);
      const erin = await makeReviewer(world);
      await http(world, "/admin/v1/escalations/approve", { token: erin.token, body: made.escalation });
      await change(world, "credentials/revoke", { id: erin.id });
      return made;
    },
    attack: (world, { escalation, amount }) =>
      inTurn(approve(world, escalation, "secondReviewer"), () => pay(world, amount)),
    held: `200, then ${waits}`,
    leaves: ["escalations"],
    control: (world, { escalation, amount }) => inTurn(approve(world, escalation), () => pay(world, amount)),
    succeeds: `200, then ${paid}`,
  }),
  attack({
    name: "An agent uses an approval that was withdrawn",
    surface: "HTTP",
    async prepare(world) {
      const made = await approved(world);
      await change(world, "escalations/withdraw", made.escalation);
      return made;
    },
    attack: (world, { amount }) => pay(world, amount),
    held: waits,
    leaves: ["escalations"],
    control: async (world) => pay(world, (await approved(world)).amount),
    succeeds: paid,
  }),
  attack({
    name: "An agent uses an approval of a reviewer who was revoked together with their answers",
    surface: "HTTP",
    async prepare(world) {
      const made = await asked(world);
      const erin = await makeReviewer(world);
      await http(world, "/admin/v1/escalations/approve", { token: erin.token, body: made.escalation });
      await approve(world, made.escalation, "secondReviewer");
      await change(world, "credentials/revoke", { id: erin.id, andAnswers: true });
      return made;
    },
    attack: (world, { amount }) => pay(world, amount),
    held: waits,
    leaves: ["escalations"],
    control: async (world) => pay(world, (await approved(world)).amount),
    succeeds: paid,
  }),
  attack({
    name: "An attacker withdraws an approval of what has happened, to hide it",
    surface: "HTTP",
    async prepare(world) {
      const made = await approved(world);
      await pay(world, made.amount);
      return made;
    },
    attack: (world, { escalation }) => admin(world, "escalations/withdraw", escalation, "acmeReviewer"),
    held: "409 conflict",
    control: async (world) => admin(world, "escalations/withdraw", (await approved(world)).escalation, "acmeReviewer"),
    succeeds: "200",
  }),
  attack({
    name: "A runtime inside a turn continues without the approval",
    surface: "HTTP",
    prepare: () => Promise.resolve(freshAmount()),
    attack: (world, amount) =>
      run(world, "assistant", { calls: [{ tool: "bank.pay", arguments: { to: "vault", amount } }] }),
    held: "200 succeeded: denied approval_required",
    leaves: ["turns", "escalations"],
    async control(world) {
      const { amount } = await approved(world);
      return run(world, "assistant", { calls: [{ tool: "bank.pay", arguments: { to: "vault", amount } }] });
    },
    succeeds: "200 succeeded: succeeded",
  }),
];

/** What an admin tries as the agent: a payment out of the vault. */
function tryPayment(world: World, amount: number): Promise<Seen> {
  const trial = { namespaceId: "acme", credentialId: world.credentialIds.assistant };
  return admin(world, "tools/try", { ...trial, tool: "bank.pay", arguments: { to: "vault", amount } }, "acmeAdmin");
}

/** A payment that an admin tried, and the escalation that is open. */
async function tried(world: World): Promise<{ amount: number; escalation: Asked }> {
  const amount = freshAmount();
  const { text } = await tryPayment(world, amount);
  const { details } = (JSON.parse(text) as { error: { details: { escalationId: string; requestHash: string } } }).error;
  return { amount, escalation: { namespaceId: "acme", id: details.escalationId, ask: details.requestHash } };
}

/** A reviewer whom no one else needs. */
function makeReviewer(world: World): Promise<{ id: string; token: string }> {
  const erin = { kind: "human", userId: "erin" };
  const rights = { purposes: ["operate"], admin: true, role: "reviewer", tenant: "acme" };
  return makeCredential(world, { namespaceId: "operators", access: { actor: erin, owner: erin, ...rights } });
}

/** A grant over an account of its own, each use of which needs an approval: its id, which is the account's name. */
async function issueVault(world: World): Promise<string> {
  const id = world.fresh("account");
  const capability = {
    resource: { namespace: "bank", path: [id] },
    actions: ["pay"],
    scope: "exact",
    approval: "each",
  };
  const [subject, issuer] = [
    { kind: "agent", agentId: "assistant" },
    { kind: "human", userId: "alice" },
  ];
  await change(world, "grants", {
    id,
    namespaceId: "acme",
    subject,
    issuer,
    capabilities: [capability],
    constraints: {},
    issuedAt: "2026-01-01T00:00:00Z",
  });
  return id;
}

/** What the assistant's credential has. */
const assistantAccess = {
  actor: assistant,
  owner: alice,
  authority: alice,
  purposes: ["support", "billing"],
};

async function askOf(world: World, to: string, amount: number): Promise<Asked> {
  return escalationIn(await pay(world, amount, to));
}

/** The escalation that an answer says is open. */
function escalationIn({ text }: Seen): Asked {
  const { details } = (JSON.parse(text) as { error: { details: { escalationId: string; requestHash: string } } }).error;
  return { namespaceId: "acme", id: details.escalationId, ask: details.requestHash };
}

export const approvals: Group = {
  name: "approvals",
  open: () => openWorld({ flags: { "escalations.approvals": "2" } }),
  attacks: rows,
};
