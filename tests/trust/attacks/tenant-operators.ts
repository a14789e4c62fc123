import { attack, type Attack, type Group } from "./attack.ts";
import { admin, change, http } from "./surfaces.ts";
import { alice, assistant, grantBody, issue, openWorld, type World } from "./world.ts";

const elsewhere = (world: World, path: string, body?: object) => admin(world, path, body, "acmeAdmin");
const forbidden = "403 permission_denied";
const missing = "404 not_found";

/** What an admin of Acme tries at Globex, and what an admin of Globex may do there. */
function acrossTenants(
  name: string,
  path: string,
  body: ((world: World) => object) | undefined,
  succeeds: string,
): Attack {
  return attack({
    name,
    surface: "HTTP",
    prepare: (world) => Promise.resolve(body?.(world)),
    attack: (world, sent) => elsewhere(world, path, sent),
    held: forbidden,
    control: (world, sent) => admin(world, path, sent, "globexAdmin"),
    succeeds,
  });
}

const rows: readonly Attack[] = [
  acrossTenants("An admin of one tenant lists the grants of another", "grants?namespaceId=globex", undefined, "200"),
  acrossTenants(
    "An admin of one tenant issues a grant in another",
    "grants",
    (world) => grantBody(world.fresh("grant"), "files", { tenant: "globex" }),
    "201",
  ),
  acrossTenants(
    "An admin of one tenant makes a credential in another",
    "credentials",
    () => ({ namespaceId: "globex", access: { actor: assistant, owner: alice, purposes: ["support"] } }),
    "201",
  ),
  acrossTenants("An admin of one tenant reads the audit log of another", "audit?namespaceId=globex", undefined, "200"),
  acrossTenants(
    "An admin of one tenant lists the escalations of another",
    "escalations?namespaceId=globex",
    undefined,
    "200",
  ),
  acrossTenants("An admin of one tenant lists the turns of another", "turns?namespaceId=globex", undefined, "200"),
  acrossTenants(
    "An admin of one tenant follows the events of another",
    "audit/heads?namespaceId=globex",
    undefined,
    "200",
  ),
  acrossTenants(
    "An admin of one tenant asks what another party of another can reach",
    "reach?namespaceId=globex&actor=agent:assistant&owner=human:alice&purpose=support",
    undefined,
    "200",
  ),
  acrossTenants(
    "An admin of one tenant asks why something was denied in another",
    "explanations",
    () => ({
      namespaceId: "globex",
      actor: assistant,
      authority: alice,
      owner: alice,
      purpose: "support",
      action: "read",
      resource: { namespace: "files", path: ["diary"] },
    }),
    "200",
  ),
  attack({
    name: "An admin of one tenant calls a tool as a credential of another",
    surface: "HTTP",
    attack: (world) =>
      elsewhere(world, "tools/try", {
        namespaceId: "acme",
        credentialId: world.credentialIds.globexAssistant,
        tool: "files.read",
        arguments: { path: "notes/todo" },
      }),
    held: missing,
    control: (world) =>
      elsewhere(world, "tools/try", {
        namespaceId: "acme",
        credentialId: world.credentialIds.assistant,
        tool: "files.read",
        arguments: { path: "notes/todo" },
      }),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "An admin of one tenant revokes a credential of another by its id",
    surface: "HTTP",
    attack: (world) => elsewhere(world, "credentials/revoke", { id: world.credentialIds.globexAssistant }),
    held: missing,
    async control(world) {
      const access = { actor: assistant, owner: alice, purposes: ["support"] };
      const { id } = await change<{ id: string }>(world, "credentials", { namespaceId: "acme", access });
      return elsewhere(world, "credentials/revoke", { id });
    },
    succeeds: "200",
  }),
  attack({
    name: "An admin of one tenant reads what a credential of another left behind",
    surface: "HTTP",
    attack: (world) => elsewhere(world, `credentials/${world.credentialIds.globexAssistant}`),
    held: missing,
    control: (world) => elsewhere(world, `credentials/${world.credentialIds.assistant}`),
    succeeds: "200",
  }),
  attack({
    name: "An admin of one tenant ends all that a credential of another left behind",
    surface: "HTTP",
    attack: (world) =>
      elsewhere(world, "credentials/revoke", { id: world.credentialIds.globexAssistant, andEverything: true }),
    held: missing,
    async control(world) {
      const access = { actor: assistant, owner: alice, purposes: ["support"] };
      const { id } = await change<{ id: string }>(world, "credentials", { namespaceId: "acme", access });
      return elsewhere(world, "credentials/revoke", { id, andEverything: true });
    },
    succeeds: "200",
  }),
  attack({
    name: "An admin of one tenant rotates the token of another tenant's credential",
    surface: "HTTP",
    attack: (world) => elsewhere(world, "credentials/rotate", { id: world.credentialIds.globexAlice }),
    held: missing,
    async control(world) {
      const access = { actor: assistant, owner: alice, purposes: ["support"] };
      const { id } = await change<{ id: string }>(world, "credentials", { namespaceId: "acme", access });
      return elsewhere(world, "credentials/rotate", { id });
    },
    succeeds: "200",
  }),
  attack({
    name: "An admin of one tenant makes themselves an operator of all of them",
    surface: "HTTP",
    attack: (world) =>
      elsewhere(world, "credentials", {
        namespaceId: "operators",
        access: { actor: alice, owner: alice, purposes: ["operate"], admin: true },
      }),
    held: forbidden,
    control: (world) =>
      admin(world, "credentials", {
        namespaceId: "operators",
        access: { actor: alice, owner: alice, purposes: ["operate"], admin: true },
      }),
    succeeds: "201",
  }),
  attack({
    name: "An admin of one tenant hides an operator's rights in a credential of their tenant",
    surface: "HTTP",
    attack: (world) =>
      elsewhere(world, "credentials", {
        namespaceId: "acme",
        access: { actor: alice, owner: alice, purposes: ["operate"], admin: true, role: "admin" },
      }),
    held: "400 invalid_request",
    control: (world) =>
      elsewhere(world, "credentials", {
        namespaceId: "acme",
        access: { actor: alice, owner: alice, purposes: ["operate"] },
      }),
    succeeds: "201",
  }),
  attack({
    name: "An admin of one tenant names two tenants in one query",
    surface: "HTTP",
    attack: (world) => elsewhere(world, "grants?namespaceId=acme&namespaceId=globex"),
    held: "400 invalid_request",
    control: (world) => elsewhere(world, "grants?namespaceId=acme"),
    succeeds: "200",
  }),
  attack({
    name: "An admin of one tenant continues with a cursor from a list of another",
    surface: "HTTP",
    async prepare(world) {
      for (const tenant of ["acme", "globex"]) await issue(world, "files/cursor", { tenant });
      return (await change<{ cursor: string }>(world, "grants?namespaceId=globex&limit=1")).cursor;
    },
    async attack(world, cursor) {
      const { says, text } = await elsewhere(
        world,
        `grants?namespaceId=acme&limit=1&cursor=${encodeURIComponent(cursor)}`,
      );
      return { says: says.startsWith("200") && !text.includes("globex") ? "nothing of globex" : says, text };
    },
    held: "nothing of globex",
    control: (world, cursor) =>
      admin(world, `grants?namespaceId=globex&limit=1&cursor=${encodeURIComponent(cursor)}`, undefined, "globexAdmin"),
    succeeds: "200",
  }),
  attack({
    name: "An admin of one tenant deletes it, which only admins of all may",
    surface: "HTTP",
    attack: (world) => elsewhere(world, "tenants/delete", { namespaceId: "acme", confirm: "acme" }),
    held: forbidden,
    control: (world) => elsewhere(world, "tenants"),
    succeeds: "200",
  }),
  attack({
    name: "An admin of one tenant takes a backup of all of them",
    surface: "HTTP",
    attack: (world) => http(world, "/admin/v1/backup", { as: "acmeAdmin", method: "POST", body: {} }),
    held: forbidden,
    control: (world) =>
      http(world, "/admin/v1/backup", {
        as: "admin",
        method: "POST",
        body: {},
        read: async (answer) => `${(await answer.arrayBuffer()).byteLength > 0}`,
      }),
    succeeds: "200",
  }),
  attack({
    name: "An operator of one tenant reads the metrics of the whole host",
    surface: "HTTP",
    attack: (world) => http(world, "/metrics", { as: "acmeAdmin" }),
    held: forbidden,
    control: (world) => http(world, "/metrics", { as: "auditor" }),
    succeeds: "200",
  }),
];

export const tenantOperators: Group = { name: "operators of one tenant", open: () => openWorld(), attacks: rows };
