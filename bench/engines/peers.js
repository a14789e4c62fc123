// The same rules in other engines: folder after folder, an agent may read what is in it, for one purpose and for a time.
// Plain JavaScript that is run where it is, because these packages are installed beside it and nowhere else.
import { createMongoAbility, subject } from "@casl/ability";
import cedar from "@cedar-policy/cedar-wasm/nodejs";
import { newEnforcer, newModelFromString, StringAdapter } from "casbin";

const purpose = "measure";
const from = Date.parse("2026-01-01T00:00:00Z");
const until = Date.parse("2027-01-01T00:00:00Z");
const now = Date.parse("2026-06-01T12:00:00Z");

/**
 * An engine with so many rules: a function that says whether a folder may be read. The engine tries the rule of the folder
 * with the highest number last.
 */
export const peers = { CASL: openCasl, casbin: openCasbin, "cedar-wasm": openCedar };

/** CASL tries the rule that was given last first. */
function openCasl(count) {
  const rules = Array.from({ length: count }, (_, place) => ({
    action: "read",
    subject: "file",
    conditions: { folder: `folder-${count - 1 - place}`, purpose: { $in: [purpose] }, now: { $gte: from, $lt: until } },
  }));
  const ability = createMongoAbility(rules);
  return (folder) => ability.can("read", subject("file", { folder, purpose, now }));
}

async function openCasbin(count) {
  const model = newModelFromString(`
    [request_definition]
    r = sub, obj, act, purpose, now
    [policy_definition]
    p = sub, obj, act, purpose, notBefore, expiresAt
    [policy_effect]
    e = some(where (p.eft == allow))
    [matchers]
    m = r.sub == p.sub && keyMatch(r.obj, p.obj) && r.act == p.act && r.purpose == p.purpose && r.now >= p.notBefore && r.now < p.expiresAt
  `);
  const lines = Array.from(
    { length: count },
    (_, place) => `p, assistant, /folder-${place}/*, read, ${purpose}, ${from}, ${until}`,
  );
  const enforcer = await newEnforcer(model, new StringAdapter(lines.join("\n")));
  return (folder) => enforcer.enforceSync("assistant", `/${folder}/notes/today.md`, "read", purpose, now);
}

/** The policies are parsed once; what is read, and the folders above it, come with each question. */
function openCedar(count) {
  const policies = Array.from(
    { length: count },
    (
      _,
      place,
    ) => `permit (principal == Agent::"assistant", action == Action::"read", resource in Folder::"folder-${place}")
      when { context.purpose == "${purpose}" && context.now >= ${from} && context.now < ${until} };`,
  );
  const id = `rules-${count}`;
  const parsed = cedar.preparsePolicySet(id, { staticPolicies: policies.join("\n") });
  if (parsed.type !== "success") throw new Error(JSON.stringify(parsed));
  return (folder) => {
    const answer = cedar.statefulIsAuthorized({
      principal: { type: "Agent", id: "assistant" },
      action: { type: "Action", id: "read" },
      resource: { type: "File", id: `${folder}/notes/today.md` },
      context: { purpose, now },
      preparsedPolicySetId: id,
      entities: [
        { uid: { type: "File", id: `${folder}/notes/today.md` }, attrs: {}, parents: [{ type: "Folder", id: folder }] },
      ],
    });
    return answer.type === "success" && answer.response.decision === "allow";
  };
}
