import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startHost } from "../../scripts/start-host.js";

const folder = import.meta.dirname;
export const installed = join(folder, "../node_modules");
/** Some of these programs need a newer Node.js than the host does. */
export const node22 = join(installed, `node22-linux-${process.arch}/bin/node`);

const namespaceId = "acme";
const client = { kind: "agent", agentId: "client" };
const alice = { kind: "human", userId: "alice" };

/** The tools of the governed server that the client may call: all but `forbidden`, and `restricted` only here. */
const tools = [
  "test_simple_text",
  "test_image_content",
  "test_audio_content",
  "test_embedded_resource",
  "test_multiple_content_types",
  "test_error_handling",
  "test_tool_with_progress",
  "json_schema_2020_12_tool",
  "echo",
  "wait",
];

const on = (path, action) => ({
  resource: { namespace: "mcp.governed", path },
  actions: [action],
  scope: "descendants",
});
const capabilities = [
  ...tools.map((tool) => on([tool], "call")),
  on(["restricted", "here"], "call"),
  on(["resources"], "read"),
  on(["prompts"], "use"),
  { resource: { namespace: "files", path: [] }, actions: ["list", "read"], scope: "descendants" },
];

/** A real host with a real governed server, and a client's credential. */
export async function startWorld() {
  const { url, operator, folder: data, stop } = await startHost(configurationIn);
  const access = { actor: client, owner: alice, authority: alice, purposes: ["interop"] };
  const { token } = await operator.request("createCredential", { namespaceId, access });
  const issued = { id: "interop", constraints: {}, issuedAt: new Date().toISOString() };
  await operator.request("createGrant", { ...issued, namespaceId, subject: client, issuer: alice, capabilities });
  await operator.request("changeNamespaces", { namespaceId, actor: client, update: { enable: ["mcp.governed"] } });
  /** The lines that the governed server wrote. */
  const diary = () => readFileSync(join(data, "diary"), "utf8").split("\n");
  const note = (line) => appendFileSync(join(data, "diary"), `${line}\n`);
  return { url, token, diary, note, stop };
}

function configurationIn(data) {
  const diary = join(data, "diary");
  writeFileSync(diary, "");
  const governed = {
    command: [process.execPath, join(folder, "governed-server.js"), diary],
    rules: { restricted: { path: ["$place"] } },
  };
  // Programs ask faster than people do.
  const limits = { requestsPerSecond: 1000, burst: 1000 };
  return { mcp: { servers: { governed } }, limits, log: { level: "warn" } };
}
