import { eventually } from "../../../packages/host/test/host-calls.ts";
import { testServer } from "../../../packages/host/test/mcp/servers.ts";
import { attack, type Attack, type Group, type Seen } from "./attack.ts";
import { answerTo, http, invoke, mcp, type Sent } from "./surfaces.ts";
import { issue, openWorld, type Person, type World } from "./world.ts";

const call = (world: World, name: string, args: object, as: Person = "assistant", sent?: Sent) =>
  mcp(world, as, "tools/call", { name, arguments: args }, sent);
const read = (world: World, uri: string, as: Person = "assistant") => mcp(world, as, "resources/read", { uri });
const prompt = (world: World, name: string, as: Person = "assistant") =>
  mcp(world, as, "prompts/get", { name, arguments: { who: "Bob" } });
const denied = "200 denied no_matching_grant";
const unfit = "200 denied invalid_tool_arguments";
const hidden = "200 denied tool_unavailable";
const noSuch = "200 -32602";

/** A call that is refused, beside one of the same tool that is not. */
function calling(
  name: string,
  tool: string,
  args: object,
  held: string,
  right: readonly [string, object] = ["mcp_test_issue", { org: "acme", repo: "site" }],
): Attack {
  return attack({
    name,
    surface: "MCP",
    attack: (world) => call(world, tool, args),
    held,
    ...(held.includes("failed") && { leaves: ["replay"] as const }),
    control: (world) => call(world, ...right),
    succeeds: "200",
  });
}

function reading(name: string, uri: string, held = noSuch): Attack {
  return attack({
    name,
    surface: "MCP",
    attack: (world) => read(world, uri),
    held,
    control: (world) => read(world, "note://1"),
    succeeds: "200",
  });
}

/** Whether the list of tools has some text. */
async function listed(world: World, text: string, as: Person = "assistant"): Promise<Seen> {
  const { says, text: all } = await mcp(world, as, "tools/list", {});
  return { says: `${says}, ${all.includes(text) ? "it is there" : "it is not there"}`, text: all };
}

/** Whether what an operator is answered has some text. */
async function told(world: World, path: string, text: string, sent: Sent): Promise<Seen> {
  const { says, text: all } = await http(world, path, sent);
  return { says: `${says}, ${all.includes(text) ? "it is there" : "it is not there"}`, text: all };
}

/** A server's name asked for by an operator of a tenant that the server is not for, and by one of a tenant that it is for. */
function naming(name: string, path: (tenant: string) => string): Attack {
  return attack({
    name,
    surface: "HTTP",
    attack: (world) => told(world, path("globex"), "mcp.turncoat", { as: "globexAdmin" }),
    held: "200, it is not there",
    control: (world) => told(world, path("acme"), "mcp.turncoat", { as: "acmeAuditor" }),
    succeeds: "200, it is there",
  });
}

/** Has a caller denied a tool of a server, and an operator explain it: whether the server is named as one that there is. */
async function explained(world: World, tenant: string, client: Person, as: Person): Promise<Seen> {
  const [traceId, id] = [world.fresh("trace"), world.fresh("call")];
  const body = { id, tool: "mcp.turncoat.nothing", arguments: {}, requestedAt: "2026-01-01T00:00:00Z", traceId };
  await http(world, "/v1/tools/invoke", { as: client, headers: { "x-trace-id": traceId }, body });
  const denial = { as, body: { namespaceId: tenant, traceId } };
  return told(world, "/admin/v1/explanations/denial", '"toolNamespace":"mcp.turncoat"', denial);
}

/** Has a server change a tool, and waits until the host has marked it as withdrawn. */
async function changeTurncoat(world: World): Promise<void> {
  await call(world, "mcp_turncoat_change", {});
  await eventually(async () => {
    // A list is what the host compares.
    await mcp(world, "assistant", "tools/list", {});
    const { text } = await http(world, "/admin/v1/mcp/servers", { as: "admin" });
    if (!text.includes('"withdrawnAt"')) throw new Error("Nothing is withdrawn.");
  });
}

/** Whether an operator is told of a withdrawn tool in the first that the stream of a tenant's events says. */
async function heard({ url, tokens }: World, tenant: string, as: Person): Promise<Seen> {
  const leaving = new AbortController();
  const headers = { authorization: `Bearer ${tokens[as]}`, accept: "text/event-stream" };
  const response = await fetch(`${url}/admin/v1/events?namespaceId=${tenant}`, { headers, signal: leaving.signal });
  let text = "";
  for await (const piece of response.body ?? []) {
    text += new TextDecoder().decode(piece as Uint8Array);
    if (text.includes('"waiting"')) break;
  }
  leaving.abort();
  return { says: `${response.status}, ${text.includes("turncoat") ? "it is there" : "it is not there"}`, text };
}

const rows: readonly Attack[] = [
  naming(
    "An operator of one tenant reads which servers another one has, among the names for mistyped ones",
    (tenant) => `/admin/v1/names?namespaceId=${tenant}`,
  ),
  naming(
    "An operator of one tenant reads which servers another one has, among what can be switched on",
    (tenant) => `/admin/v1/namespaces?namespaceId=${tenant}&actor=human:unknown`,
  ),
  attack({
    name: "An operator of one tenant infers the servers of another one by what is said of a denial",
    surface: "HTTP",
    attack: (world) => explained(world, "globex", "globexAssistant", "globexAdmin"),
    held: "200, it is not there",
    leaves: ["replay"],
    control: (world) => explained(world, "acme", "assistant", "acmeAuditor"),
    succeeds: "200, it is there",
  }),
  calling(
    "A client calls a tool that it was not shown, under the name it has on its server",
    "issue",
    { org: "evil", repo: "site" },
    hidden,
  ),
  calling(
    "A client calls a tool beyond what its grant covers",
    "mcp_test_issue",
    { org: "evil", repo: "site" },
    denied,
  ),
  calling("A client leaves out the argument that the rule binds", "mcp_test_issue", { repo: "site" }, unfit),
  calling(
    "A client gives the bound argument as a list, of which one element is allowed",
    "mcp_test_issue",
    { org: ["acme", "evil"], repo: "site" },
    unfit,
  ),
  calling(
    "A client spells the bound argument a second time in other case",
    "mcp_test_issue",
    { Org: "acme", repo: "site" },
    unfit,
  ),
  calling(
    "A client gives the bound argument as an object that reads as the allowed text",
    "mcp_test_issue",
    { org: { toString: "acme" }, repo: "site" },
    unfit,
  ),
  ...["docs/../private/diary", "docs/%2e%2e/private", "docs\\..\\private", "docs/\uff0e\uff0e/private"].map(
    (words, place) =>
      calling(
        `A client climbs out of the folder that its grant is for, in way ${place + 1}`,
        "mcp_folders_echo",
        { words },
        unfit,
        ["mcp_folders_echo", { words: "docs/plan" }],
      ),
  ),
  calling(
    "A client names a folder that only begins like the one of its grant",
    "mcp_folders_echo",
    { words: "docs-private/diary" },
    denied,
    ["mcp_folders_echo", { words: "docs" }],
  ),
  calling("A client climbs with the bound argument", "mcp_test_issue", { org: "acme/../evil", repo: "site" }, denied),
  calling("A client uses a bound argument that is a dot twice", "mcp_test_issue", { org: "..", repo: "site" }, denied),
  calling(
    "A client calls a tool of another name that shares the beginning",
    "mcp_test_issue_2",
    { org: "acme" },
    hidden,
  ),
  calling("A client calls a tool whose server has another by that name", "mcp.test.__proto__", {}, hidden),
  calling("A client calls a tool with a name that JavaScript knows", "constructor", {}, hidden),
  calling(
    "A server answers with more than it may",
    "mcp_test_huge",
    { bytes: 200_000 },
    "200 failed output_too_large",
    ["mcp_test_huge", { bytes: 10 }],
  ),
  calling(
    "A client gives arguments that are deeper than JSON may be",
    "mcp_test_structure",
    JSON.parse(`{"structure":${'{"a":'.repeat(80)}1${"}".repeat(80)}}`) as object,
    "400 invalid_request",
    ["mcp_test_structure", { structure: { a: 1 } }],
  ),
  attack({
    name: "A client gives a number that would be another one for the tool",
    surface: "MCP",
    attack: (world) => call(world, "mcp_test_structure", { structure: { id: 2 ** 53 } }),
    held: "200 failed invalid_tool_arguments",
    control: (world) => call(world, "mcp_test_structure", { structure: { id: 2 ** 53 - 1 } }),
    succeeds: "200",
  }),
  attack({
    name: "A caller gives a number that would be another one for the tool",
    surface: "HTTP",
    attack: (world) => invoke(world, "assistant", "mcp.test.structure", { structure: { id: 2 ** 53 } }),
    held: "400 invalid_request",
    control: (world) => invoke(world, "assistant", "mcp.test.structure", { structure: { id: 2 ** 53 - 1 } }),
    succeeds: "200 succeeded",
  }),
  attack({
    name: "A client of another tenant calls a tool of a server that is not for it",
    surface: "MCP",
    attack: (world) => call(world, "mcp_test_issue", { org: "acme", repo: "site" }, "globexAssistant"),
    held: hidden,
    control: (world) => call(world, "mcp_test_issue", { org: "acme", repo: "site" }),
    succeeds: "200",
  }),
  attack({
    name: "A client of another tenant is shown the tools of a server that is not for it",
    surface: "MCP",
    attack: (world) => listed(world, "mcp_test_issue", "globexAssistant"),
    held: "200, it is not there",
    control: (world) => listed(world, "mcp_test_issue"),
    succeeds: "200, it is there",
  }),
  attack({
    name: "A server describes a tool with instructions in characters that are not seen",
    surface: "MCP",
    async attack(world) {
      const { text } = await mcp(world, "assistant", "tools/list", {});
      return {
        says: /\\u202e|\\u001b|\\u0000|\u202e|\u{e0041}/u.test(text) ? "hidden text" : "no hidden text",
        text: "",
      };
    },
    held: "no hidden text",
    control: (world) => listed(world, "mcp_test_injected"),
    succeeds: "200, it is there",
  }),
  attack({
    name: "A server lists a second tool of a name that was taken, and one that is a step up",
    surface: "MCP",
    async attack(world) {
      const { text } = await mcp(world, "assistant", "tools/list", {});
      const names = [...text.matchAll(/"name":"([^"]*)"/g)].map(([, name]) => name);
      return {
        says: `${names.filter((name) => name === "mcp_test_echo").length} echo, ${names.filter((name) => name?.includes("..")).length} ..`,
        text: "",
      };
    },
    held: "1 echo, 0 ..",
    control: (world) => call(world, "mcp_test_echo", { words: "x" }),
    succeeds: "200",
  }),
  attack({
    name: "A server changes a tool after it was accepted",
    surface: "MCP",
    async prepare(world) {
      await call(world, "mcp_turncoat_echo", { words: "x" });
      await changeTurncoat(world);
    },
    attack: (world) => call(world, "mcp_turncoat_echo", { words: "x" }),
    held: hidden,
    control: (world) => call(world, "mcp_turncoat_issue", { org: "acme" }),
    succeeds: "200",
  }),
  attack({
    name: "An operator of one tenant follows its events for the tools that another one's server changed",
    surface: "HTTP",
    prepare: changeTurncoat,
    attack: (world) => heard(world, "globex", "globexAdmin"),
    held: "200, it is not there",
    control: (world) => heard(world, "acme", "acmeAuditor"),
    succeeds: "200, it is there",
  }),
  attack({
    name: "An agent accepts a changed tool with its own token",
    surface: "HTTP",
    attack: (world) => http(world, "/admin/v1/mcp/servers/test/accept", { as: "assistant", body: { tools: [] } }),
    held: "403 permission_denied",
    control: (world) => http(world, "/admin/v1/mcp/servers/test/review", { as: "admin" }),
    succeeds: "200",
  }),
  attack({
    name: "An admin of one tenant accepts a tool for all tenants",
    surface: "HTTP",
    attack: (world) => http(world, "/admin/v1/mcp/servers/test/accept", { as: "acmeAdmin", body: { tools: [] } }),
    held: "403 permission_denied",
    control: (world) => http(world, "/admin/v1/mcp/servers", { as: "auditor" }),
    succeeds: "200",
  }),
  reading("A client reads a resource that the server has and no grant covers", "note://image"),
  reading("A client reads a resource that was not listed", "note://secret"),
  reading("A client reads a resource by a URI that climbs", "note://1/../image"),
  reading("A client reads a resource by a URI with a character that is not seen", "note://1\u200b"),
  reading("A client has a server fetch a file of its machine", "file:///etc/passwd"),
  reading("A client has a server fetch an address of the network", "http://169.254.169.254/latest/meta-data"),
  attack({
    name: "A client reads a file beyond its grant as a resource",
    surface: "MCP",
    attack: (world) => read(world, "turnpike://files/diary/today"),
    held: noSuch,
    control: (world) => read(world, "turnpike://files/notes/todo"),
    succeeds: "200",
  }),
  attack({
    name: "A client climbs out of its folder by the URI of a file",
    surface: "MCP",
    attack: (world) => read(world, "turnpike://files/notes/%2e%2e/diary/today"),
    held: noSuch,
    control: (world) => read(world, "turnpike://files/notes/%74odo"),
    succeeds: "200",
  }),
  attack({
    name: "A client of another tenant reads a granted resource",
    surface: "MCP",
    attack: (world) => read(world, "note://1", "globexAssistant"),
    held: noSuch,
    control: (world) => read(world, "note://1"),
    succeeds: "200",
  }),
  attack({
    name: "A client of another tenant uses a prompt",
    surface: "MCP",
    attack: (world) => prompt(world, "mcp_test_greet", "globexAssistant"),
    held: noSuch,
    control: (world) => prompt(world, "mcp_test_greet"),
    succeeds: "200",
  }),
  attack({
    name: "A client uses a prompt that no grant covers",
    surface: "MCP",
    attack: (world) => prompt(world, "mcp_test_trap"),
    held: noSuch,
    control: (world) => prompt(world, "mcp_test_greet"),
    succeeds: "200",
  }),
  attack({
    name: "A client comes with the session of another one, and no token",
    surface: "MCP",
    attack: (world) =>
      http(world, "/mcp", {
        headers: { "mcp-session-id": "session-1", accept: "application/json, text/event-stream" },
        body: { jsonrpc: "2.0", id: 1, method: "tools/list" },
      }),
    held: "401 unauthenticated",
    control: (world) => mcp(world, "assistant", "tools/list", {}, { headers: { "mcp-session-id": "session-1" } }),
    succeeds: "200",
  }),
  attack({
    name: "A client acts under the progress token and the id of another one's call",
    surface: "MCP",
    attack: (world) =>
      mcp(world, "helper", "tools/call", {
        name: "mcp_test_issue",
        arguments: { org: "acme" },
        _meta: { progressToken: 1 },
      }),
    held: hidden,
    control: (world) =>
      mcp(world, "assistant", "tools/call", {
        name: "mcp_test_issue",
        arguments: { org: "acme" },
        _meta: { progressToken: 1 },
      }),
    succeeds: "200",
  }),
  attack({
    name: "A client states in `_meta` who it is",
    surface: "MCP",
    attack: (world) =>
      mcp(world, "helper", "tools/call", {
        name: "files_read",
        arguments: { path: "notes/todo" },
        _meta: { "turnpike/actor": "agent:assistant", actor: "agent:assistant", purpose: "support" },
      }),
    held: hidden,
    control: (world) => call(world, "files_read", { path: "notes/todo" }),
    succeeds: "200",
  }),
  attack({
    name: "A client continues a list by a cursor that it made up",
    surface: "MCP",
    attack: (world) =>
      mcp(world, "assistant", "resources/list", { cursor: btoa('{"after":["mcp.secret","note://image"]}') }),
    held: noSuch,
    control: (world) => mcp(world, "assistant", "resources/list", {}),
    succeeds: "200",
  }),
  attack({
    name: "A client asks the host for what only a server's client gives: sampling",
    surface: "MCP",
    attack: (world) => mcp(world, "assistant", "sampling/createMessage", { messages: [], maxTokens: 1 }),
    held: "200 -32601",
    control: (world) => mcp(world, "assistant", "ping", {}),
    succeeds: "200",
  }),
  attack({
    name: "A page of another origin calls the MCP server by the browser",
    surface: "MCP",
    async attack(world) {
      const { status, headers, text } = await answerTo(world, "/mcp", {
        headers: { origin: "https://evil.example", accept: "application/json, text/event-stream" },
        body: { jsonrpc: "2.0", id: 1, method: "tools/list" },
      });
      return { says: `${status}, allowed origin: ${headers.get("access-control-allow-origin")}`, text };
    },
    held: "403, allowed origin: null",
    control: (world) => mcp(world, "assistant", "tools/list", {}, { headers: { origin: world.url } }),
    succeeds: "200",
  }),
];

export const mcpAttacks: Group = {
  name: "MCP",
  async open() {
    const test = {
      command: testServer("--odd", "--offers"),
      tenants: ["acme"],
      rules: { issue: { path: ["$org"] } },
      maxOutputBytes: 100_000,
    };
    const folders = { command: testServer(), tenants: ["acme"], rules: { echo: { path: ["$words/"] } } };
    const turncoat = { command: testServer(), tenants: ["acme"] };
    const world = await openWorld({ config: { mcp: { servers: { test, turncoat, folders } } } });
    // Globex has the same grants, and its people see nothing all the same: the server is not for them.
    for (const tenant of ["acme", "globex"]) {
      await issue(world, "mcp.test/issue/acme", { tenant, actions: ["call"] });
      await issue(world, "mcp.test/prompts/greet", { tenant, actions: ["use"] });
      await issue(world, `mcp.test/resources/${encodeURIComponent("note://1")}`, { tenant, actions: ["read"] });
    }
    for (const tool of ["echo", "huge", "structure", "injected"])
      await issue(world, `mcp.test/${tool}`, { actions: ["call"] });
    await issue(world, "mcp.turncoat", { actions: ["call"] });
    await issue(world, "mcp.folders/echo/docs", { actions: ["call"] });
    const body = { enable: ["mcp.turncoat", "mcp.folders"] };
    await answerTo(world, "/v1/tools/namespaces", { as: "assistant", method: "PUT", body });
    // The caller that lists first pins what the servers say.
    await mcp(world, "assistant", "tools/list", {});
    return world;
  },
  attacks: rows,
};
