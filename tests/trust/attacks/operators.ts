import { attack, type Attack, type Group, together } from "./attack.ts";
import { admin, answerTo, authorize, change, http, makeCredential, newOperator } from "./surfaces.ts";
import { alice, assistant, done, grantBody, openWorld, type Person, type World } from "./world.ts";

const forbidden = "403 permission_denied";

/** What an operator of a role may not do, and an admin may. */
function beyondRole(name: string, as: Person, path: string, body: (world: World) => object, succeeds: string): Attack {
  return attack({
    name,
    surface: "HTTP",
    prepare: (world) => Promise.resolve(body(world)),
    attack: (world, sent) => admin(world, path, sent, as),
    held: forbidden,
    control: (world, sent) => admin(world, path, sent, "acmeAdmin"),
    succeeds,
  });
}

function namedOperator(userId: string): object {
  const person = { kind: "human", userId };
  return { actor: person, owner: person, purposes: ["operate"], admin: true, role: "auditor" };
}

/** A place that the assistant may read by a grant of an operator's. */
async function grantPlace(world: World, token: string): Promise<object> {
  const name = world.fresh("place");
  await done(answerTo(world, "/admin/v1/grants", { token, body: grantBody(world.fresh("grant"), `files/${name}`) }));
  return { namespace: "files", path: [name] };
}

const rows: readonly Attack[] = [
  attack({
    name: "An admin of all tenants gives an agent a grant among the operators",
    surface: "HTTP",
    attack: (world) =>
      admin(world, "grants", { ...grantBody(world.fresh("grant"), "files/notes"), namespaceId: "operators" }),
    held: "400 invalid_request",
    control: (world) => admin(world, "grants", grantBody(world.fresh("grant"), "files/notes")),
    succeeds: "201",
  }),
  attack({
    name: "An admin makes an operator whose name looks like another one's",
    surface: "HTTP",
    attack: (world) => admin(world, "credentials", { namespaceId: "operators", access: namedOperator("car\u200Bol") }),
    held: "400 invalid_request",
    control: (world) => admin(world, "credentials", { namespaceId: "operators", access: namedOperator("carola") }),
    succeeds: "201",
  }),
  attack({
    name: "An agent uses a grant of an operator who was revoked together with all that they left behind",
    surface: "HTTP",
    async prepare(world) {
      const { id, token } = await newOperator(world);
      const place = await grantPlace(world, token);
      await change(world, "credentials/revoke", { id, andEverything: true });
      return place;
    },
    attack: (world, place) => authorize(world, "assistant", "read", place),
    held: "200 no_matching_grant",
    control: async (world) =>
      authorize(world, "assistant", "read", await grantPlace(world, (await newOperator(world)).token)),
    succeeds: "200 allowed",
  }),
  attack({
    name: "An auditor ends all that a credential left behind",
    surface: "HTTP",
    prepare: (world) =>
      makeCredential(world, { namespaceId: "acme", access: { actor: assistant, owner: alice, purposes: ["support"] } }),
    attack: (world, { id }) => admin(world, "credentials/revoke", { id, andEverything: true }, "acmeAuditor"),
    held: forbidden,
    control: (world, { id }) => admin(world, "credentials/revoke", { id, andEverything: true }, "acmeAdmin"),
    succeeds: "200",
  }),
  beyondRole(
    "An auditor issues a grant",
    "acmeAuditor",
    "grants",
    (world) => grantBody(world.fresh("grant"), "files/notes"),
    "201",
  ),
  beyondRole(
    "An auditor makes a credential",
    "acmeAuditor",
    "credentials",
    () => ({ namespaceId: "acme", access: { actor: assistant, owner: alice, purposes: ["support"] } }),
    "201",
  ),
  beyondRole(
    "A reviewer issues a grant",
    "acmeReviewer",
    "grants",
    (world) => grantBody(world.fresh("grant"), "files/notes"),
    "201",
  ),
  beyondRole(
    "A reviewer changes the tool namespaces of an agent",
    "acmeReviewer",
    "namespaces",
    () => ({ namespaceId: "acme", actor: assistant, update: { enable: ["files"] } }),
    "200",
  ),
  beyondRole(
    "An auditor calls a tool in the name of an agent",
    "acmeAuditor",
    "tools/try",
    (world) => ({
      namespaceId: "acme",
      credentialId: world.credentialIds.assistant,
      tool: "files.read",
      arguments: { path: "notes/todo" },
    }),
    "200 succeeded",
  ),
  beyondRole(
    "An auditor rotates the token of another party",
    "acmeAuditor",
    "credentials/rotate",
    (world) => ({ id: world.credentialIds.helper }),
    "200",
  ),
  attack({
    name: "A reviewer reads the audit log, which is not theirs",
    surface: "HTTP",
    attack: (world) => admin(world, "audit?namespaceId=acme", undefined, "acmeReviewer"),
    held: forbidden,
    control: (world) => admin(world, "audit?namespaceId=acme", undefined, "acmeAuditor"),
    succeeds: "200",
  }),
  attack({
    name: "A reviewer lists credentials",
    surface: "HTTP",
    attack: (world) => admin(world, "credentials?namespaceId=acme", undefined, "acmeReviewer"),
    held: forbidden,
    control: (world) => admin(world, "credentials?namespaceId=acme", undefined, "acmeAuditor"),
    succeeds: "200",
  }),
  attack({
    name: "A reviewer makes a route theirs by writing it another way",
    surface: "HTTP",
    attack: async (world) =>
      together(
        await Promise.all(
          ["//admin/v1/audit", "/admin/v1/audit/", "/admin/v1/AUDIT", "/admin/v1/a%75dit", "/admin/v1/;/audit"].map(
            (path) => http(world, `${path}?namespaceId=acme`, { as: "acmeReviewer" }),
          ),
        ),
      ),
    held: "1 x 400 invalid_request, 4 x 404 not_found",
    control: (world) => admin(world, "audit?namespaceId=acme", undefined, "acmeAuditor"),
    succeeds: "200",
  }),
  attack({
    name: "An operator overrides the method of a request by a header",
    surface: "HTTP",
    async attack(world) {
      const headers = {
        "x-http-method-override": "POST",
        "x-method-override": "POST",
        "x-original-url": "/admin/v1/backup",
      };
      return http(world, "/admin/v1/grants/revoke?namespaceId=acme&id=notes", { as: "acmeAdmin", headers });
    },
    held: "405 method_not_allowed",
    control: (world) => http(world, "/admin/v1/grants?namespaceId=acme", { as: "acmeAdmin" }),
    succeeds: "200",
  }),
  attack({
    name: "An attacker revokes the last admin of all tenants",
    surface: "HTTP",
    async prepare(world) {
      const { operator } = await change<{ operator: { id: string } }>(world, "session");
      return operator.id;
    },
    attack: (world, id) => admin(world, "credentials/revoke", { id }),
    held: "409 conflict",
    async control(world) {
      return admin(world, "credentials/revoke", { id: (await newOperator(world)).id });
    },
    succeeds: "200",
  }),
];

export const operators: Group = { name: "operators", open: () => openWorld(), attacks: rows };
