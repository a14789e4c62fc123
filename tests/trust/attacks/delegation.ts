import { attack, type Attack, type Group, together } from "./attack.ts";
import { admin, change, operate } from "./surfaces.ts";
import { alice, assistant, bob, type Granted, grantBody, helper, issue, openWorld, type World } from "./world.ts";

const derive = (world: World, parentId: string, changes: object = {}) =>
  admin(world, "grants/derive", {
    namespaceId: "acme",
    parentId,
    id: world.fresh("child"),
    subject: helper,
    ...changes,
  });

/** A grant of the assistant's that may be passed on, so often. */
const parentOf = (world: World, constraints: object = { delegationDepth: 1 }) =>
  issue(world, "files/notes", { constraints, actions: ["read"] });

const capability = (path: string[], actions = ["read"], scope = "descendants", more = {}) => ({
  capabilities: [{ resource: { namespace: "files", path }, actions, scope, ...more }],
});

const ownedBy = (owner: object) => ({ resource: { namespace: "files", path: ["notes"], owner } });

/** A child that is refused, and beside it one that is within its parent. */
function child(name: string, changes: object, constraints?: object, within: object = {}): Attack {
  return attack({
    name,
    surface: "HTTP",
    prepare: (world) => parentOf(world, constraints),
    attack: (world, parent) => derive(world, parent, changes),
    held: "400 invalid_request",
    control: (world, parent) => derive(world, parent, within),
    succeeds: "201",
  });
}

/** A grant that states a chain which no one made, and beside it the chain as it would be right. */
function forged(name: string, changes: Granted, within: Granted = {}): Attack {
  const link = (world: World, parentId: string, more: Granted) =>
    admin(
      world,
      "grants",
      grantBody(world.fresh("forged"), "files/notes", {
        subject: helper,
        issuer: assistant,
        actions: ["read"],
        constraints: { delegationDepth: 0 },
        parentId,
        ...more,
      }),
    );
  return attack({
    name,
    surface: "HTTP",
    prepare: (world) => parentOf(world),
    attack: (world, parent) => link(world, parent, changes),
    held: "400 invalid_request",
    control: (world, parent) => link(world, parent, within),
    succeeds: "201",
  });
}

/** A place of its own, which the assistant may read and passes on to the helper: the ids of both grants. */
async function passedOn(world: World, constraints: object = {}) {
  const place = world.fresh("place");
  const resource = { namespace: "files", path: [place] };
  await operate(world, "alice", "create", `${place}/file`, { content: "shared" });
  const parent = await issue(world, `files/${place}`, { constraints: { delegationDepth: 2, ...constraints } });
  const id = world.fresh("child");
  await change(world, "grants/derive", {
    namespaceId: "acme",
    parentId: parent,
    id,
    subject: helper,
    capabilities: [{ resource, actions: ["read"], scope: "descendants" }],
  });
  return {
    place,
    parent,
    id,
    read: () => operate(world, "helper", "read", `${place}/file`, undefined, { "x-authority": "agent:assistant" }),
  };
}

const denied = "200 denied no_matching_grant";

const rows: readonly Attack[] = [
  child("An attacker derives a grant over a place that its parent does not cover", capability(["diary"])),
  child("An attacker derives a grant over the folder above its parent's", capability([])),
  child("An attacker derives a grant over a place whose name begins like its parent's", capability(["notes2"])),
  child("An attacker derives a grant with an action more", capability(["notes"], ["read", "delete"])),
  child("An attacker derives a grant for every action", capability(["notes"], ["*"])),
  attack({
    name: "An attacker derives a grant over one owner's files that is for another owner's",
    surface: "HTTP",
    async prepare(world) {
      const body = {
        ...grantBody(world.fresh("grant"), "files/notes", { constraints: { delegationDepth: 1 } }),
        ...capability(["notes"], ["read"], "descendants", ownedBy(alice)),
      };
      return (await change<{ id: string }>(world, "grants", body)).id;
    },
    attack: async (world, parent) =>
      together([
        await derive(world, parent, capability(["notes"], ["read"], "descendants", ownedBy(bob))),
        await derive(world, parent, capability(["notes"])),
      ]),
    held: "2 x 400 invalid_request",
    control: (world, parent) => derive(world, parent, capability(["notes"], ["read"], "descendants", ownedBy(alice))),
    succeeds: "201",
  }),
  child(
    "An attacker derives a grant that ends after its parent",
    { constraints: { expiresAt: "2999-01-02T00:00:00Z" } },
    { delegationDepth: 1, expiresAt: "2999-01-01T00:00:00Z" },
  ),
  child(
    "An attacker derives a grant for a purpose more",
    { constraints: { purposes: ["support", "billing"] } },
    { delegationDepth: 1, purposes: ["support"] },
  ),
  child("An attacker derives a grant that may be passed on as often as its parent", {
    constraints: { delegationDepth: 1 },
  }),
  child("An attacker derives a grant with a negative depth", { constraints: { delegationDepth: -1 } }),
  attack({
    name: "An attacker derives a grant from one that may not be passed on",
    surface: "HTTP",
    async prepare(world) {
      return { last: await parentOf(world, { delegationDepth: 0 }), open: await parentOf(world) };
    },
    attack: (world, { last }) => derive(world, last),
    held: "400 invalid_request",
    control: (world, { open }) => derive(world, open),
    succeeds: "201",
  }),
  attack({
    name: "An attacker splits a grant of few uses into two",
    surface: "HTTP",
    async prepare(world) {
      return { bounded: await parentOf(world, { delegationDepth: 1, maxUses: 2 }), open: await parentOf(world) };
    },
    async attack(world, { bounded }) {
      return together(
        await Promise.all([
          derive(world, bounded, { constraints: { maxUses: 1 } }),
          derive(world, bounded, { constraints: { maxUses: 2 } }),
        ]),
      );
    },
    held: "2 x 400 invalid_request",
    control: (world, { open }) => derive(world, open, { constraints: { maxUses: 2 } }),
    succeeds: "201",
  }),
  attack({
    name: "An attacker derives a grant from one that needs an approval, and leaves that out",
    surface: "HTTP",
    prepare: (world) =>
      issue(world, "files/notes", { approval: "each", actions: ["read"], constraints: { delegationDepth: 1 } }),
    attack: (world, parent) => derive(world, parent, capability(["notes"])),
    held: "400 invalid_request",
    control: (world, parent) =>
      derive(world, parent, capability(["notes"], ["read"], "descendants", { approval: "each" })),
    succeeds: "201",
  }),
  attack({
    name: "An attacker derives a grant from one that expired",
    surface: "HTTP",
    async prepare(world) {
      return {
        over: await parentOf(world, { delegationDepth: 1, expiresAt: "2026-01-02T00:00:00Z" }),
        open: await parentOf(world),
      };
    },
    attack: (world, { over }) => derive(world, over),
    held: "400 invalid_request",
    control: (world, { open }) => derive(world, open),
    succeeds: "201",
  }),
  attack({
    name: "An attacker derives a grant from one that was revoked",
    surface: "HTTP",
    async prepare(world) {
      const revoked = await parentOf(world);
      await change(world, "grants/revoke", { namespaceId: "acme", id: revoked });
      return { revoked, open: await parentOf(world) };
    },
    attack: (world, { revoked }) => derive(world, revoked),
    held: "400 invalid_request",
    control: (world, { open }) => derive(world, open),
    succeeds: "201",
  }),
  attack({
    name: "An attacker derives a grant from one of another tenant",
    surface: "HTTP",
    async prepare(world) {
      const constraints = { delegationDepth: 1 };
      return {
        theirs: await issue(world, "files/notes", { tenant: "globex", constraints, actions: ["read"] }),
        own: await parentOf(world),
      };
    },
    attack: (world, { theirs }) => derive(world, theirs),
    held: "404 not_found",
    control: (world, { own }) => derive(world, own),
    succeeds: "201",
  }),
  forged("An attacker issues a child of a grant that was not given to its issuer", { issuer: bob }),
  forged("An attacker issues a child whose parent does not exist", { parentId: "nothing" }),
  forged("An attacker issues a child that is wider than its parent", { actions: ["*"] }),
  forged("An attacker issues a child that may be passed on without end", { constraints: { delegationDepth: 100 } }),
  attack({
    name: "An attacker issues a grant that is its own parent",
    surface: "HTTP",
    prepare: (world) => Promise.resolve(world.fresh("circle")),
    attack: (world, id) =>
      admin(
        world,
        "grants",
        grantBody(id, "files/notes", {
          subject: assistant,
          issuer: assistant,
          parentId: id,
          constraints: { delegationDepth: 1 },
        }),
      ),
    held: "400 invalid_request",
    control: (world, id) =>
      admin(world, "grants", grantBody(id, "files/notes", { constraints: { delegationDepth: 1 } })),
    succeeds: "201",
  }),
  attack({
    name: "An attacker issues two grants that are each other's parents, in one file",
    surface: "HTTP",
    async prepare(world) {
      return (await change<{ state: string }>(world, "grants/apply", { namespaceId: "acme", issue: [], dryRun: true }))
        .state;
    },
    attack(world, state) {
      const [one, two] = [world.fresh("circle"), world.fresh("circle")];
      const half = (id: string, parentId: string) => {
        const {
          namespaceId: _tenant,
          issuedAt: _at,
          ...draft
        } = grantBody(id, "files/notes", {
          subject: assistant,
          issuer: assistant,
          parentId,
          constraints: { delegationDepth: 1 },
        });
        return draft;
      };
      return admin(world, "grants/apply", { namespaceId: "acme", state, issue: [half(one, two), half(two, one)] });
    },
    held: "400 invalid_request",
    control(world, state) {
      const { namespaceId: _tenant, issuedAt: _at, ...draft } = grantBody(world.fresh("line"), "files/notes");
      return admin(world, "grants/apply", { namespaceId: "acme", state, issue: [draft] });
    },
    succeeds: "200",
  }),
  attack({
    name: "An attacker uses a grant whose ancestor was revoked",
    surface: "HTTP",
    async prepare(world) {
      const [cut, whole] = [await passedOn(world), await passedOn(world)];
      await change(world, "grants/revoke", { namespaceId: "acme", id: cut.parent });
      return { cut, whole };
    },
    attack: (_world, { cut }) => cut.read(),
    held: "200 denied delegation_chain_invalid",
    control: (_world, { whole }) => whole.read(),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "An attacker uses a delegated grant on the authority of the one at the beginning of its chain",
    surface: "HTTP",
    prepare: (world) => passedOn(world),
    attack: (world, { place }) =>
      operate(world, "helper", "read", `${place}/file`, undefined, { "x-authority": "human:alice" }),
    held: denied,
    control: (_world, { read }) => read(),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "An attacker uses a delegated grant beyond what was passed on",
    surface: "HTTP",
    prepare: (world) => passedOn(world),
    attack: (world, { place }) =>
      operate(world, "helper", "delete", `${place}/file`, undefined, { "x-authority": "agent:assistant" }),
    held: denied,
    control: (_world, { read }) => read(),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "An attacker issues a grant in the place of one that was revoked, under its id",
    surface: "HTTP",
    async prepare(world) {
      const id = await parentOf(world);
      await change(world, "grants/revoke", { namespaceId: "acme", id });
      return id;
    },
    attack: (world, id) => admin(world, "grants", grantBody(id, "files/notes")),
    held: "409 conflict",
    control: (world) => admin(world, "grants", grantBody(world.fresh("grant"), "files/notes")),
    succeeds: "201",
  }),
  attack({
    name: "An attacker issues a grant that says that it was issued in the future, to revive it later",
    surface: "HTTP",
    async prepare(world) {
      const place = world.fresh("later");
      await operate(world, "alice", "create", `${place}/file`, { content: "x" });
      return place;
    },
    async attack(world, place) {
      const { says } = await admin(
        world,
        "grants",
        { ...grantBody(world.fresh("grant"), `files/${place}`), issuedAt: "2999-01-01T00:00:00Z" },
        "acmeReviewer",
      );
      const { says: read, text } = await operate(world, "assistant", "read", `${place}/file`);
      return { says: `${says}, then ${read}`, text };
    },
    held: `403 permission_denied, then ${denied}`,
    async control(world, place) {
      const { says } = await admin(world, "grants", grantBody(world.fresh("grant"), `files/${place}`), "acmeAdmin");
      const { says: read, text } = await operate(world, "assistant", "read", `${place}/file`);
      return { says: `${says}, then ${read}`, text };
    },
    succeeds: "201, then 200 succeeded",
  }),
];

export const delegation: Group = { name: "delegation", open: () => openWorld(), attacks: rows };
