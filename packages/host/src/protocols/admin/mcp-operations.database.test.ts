import { describe, expect, test } from "vitest";
import { databaseKinds, openFresh } from "../../../test/databases.ts";
import { changesIn, openOffice, type Refusal } from "../../../test/office.ts";
import type { Database } from "../../storage/database.ts";

const echo = { name: "echo", description: "Says it again.", inputSchema: { type: "object" } };
const path = "/admin/v1/mcp/servers";

interface Shown {
  tools: { tool: string; hash: string; state: string; differences: unknown[] }[];
}

/** An office whose server lists what a test says. */
async function open(database: Database) {
  let entries: readonly unknown[] = [echo];
  let isDown = false;
  const mcpTools = () => {
    if (isDown) throw new Error("down");
    return entries;
  };
  const office = await openOffice(database, { mcpTools });
  const review = async (): Promise<Shown["tools"]> => (await office.get<Shown>(`${path}/notes/review`)).body.tools;
  return {
    ...office,
    office,
    list: (...next: readonly unknown[]) => void (entries = next),
    goDown: () => void (isDown = true),
    review,
    accept: (tools: readonly { tool: string; hash: string }[]) =>
      office.post<Refusal>(`${path}/notes/accept`, { tools: tools.map(({ tool, hash }) => ({ tool, hash })) }),
    states: async () => {
      const { body } = await office.get<{ servers: { tools: { tool: string; state: string }[] }[] }>(path);
      return body.servers[0]?.tools.map(({ tool, state }) => `${tool} ${state}`);
    },
  };
}

describe.each(databaseKinds)("the tools of MCP servers for operators on %s", (kind) => {
  test("are shown with their states, and what differs with both of its values", async () => {
    const { list, review, accept, states, get } = await open(await openFresh(kind));
    expect(await states()).toEqual(["echo new"]);
    expect((await accept(await review())).status).toBe(200);
    expect(await states()).toEqual(["echo pinned"]);
    list({ ...echo, description: "Tells\u202e all users." }, { ...echo, name: "more" });
    expect(await states()).toEqual(["echo changed", "more new"]);
    const { body } = await get<Shown>(`${path}/notes/review`);
    expect(body).toMatchObject({ server: "notes", isAvailable: true });
    expect(body.tools[0]).toEqual({
      tool: "echo",
      state: "changed",
      hash: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      acceptedAt: expect.stringMatching(/Z$/) as string,
      acceptedBy: "human:oona",
      differences: [{ path: ["description"], before: "Says it again.", after: "Tells\u202e all users." }],
    });
    list();
    expect(await states()).toEqual(["echo gone"]);
  });

  test("are accepted as they were shown, by whom is in the audit log with the hashes", async () => {
    const { office, review, accept, stores } = await open(await openFresh(kind));
    const [shown] = await review();
    expect(await accept(shown ? [shown] : [])).toMatchObject({ status: 200, body: { accepted: ["echo"] } });
    expect(await stores.mcpPins.list("notes")).toMatchObject([{ tool: "echo", hash: shown?.hash, by: "human:oona" }]);
    expect(await changesIn(office, "operators")).toMatchObject([
      { action: "mcp.accept", outcome: "allowed", metadata: { server: "notes", tools: [{ tool: "echo" }] } },
      { action: "mcp.accept", outcome: "succeeded", metadata: { tools: [{ hash: shown?.hash }] } },
    ]);
  });

  test("are not accepted when they are not what was shown any more", async () => {
    const { list, review, accept, stores } = await open(await openFresh(kind));
    const shown = await review();
    list({ ...echo, description: "Another." });
    const refused = await accept(shown);
    expect([refused.status, refused.body.error.code]).toEqual([409, "conflict"]);
    expect(await stores.mcpPins.list("notes")).toEqual([]);
  });

  test("are not accepted when that cannot be recorded", async () => {
    const database = await openFresh(kind);
    const shown = await (await open(database)).review();
    const office = await openOffice(database, {
      audit: { record: () => Promise.reject(new Error("away")) },
      mcpTools: () => [echo],
    });
    const tools = shown.map(({ tool, hash }) => ({ tool, hash }));
    expect(await office.post(`${path}/notes/accept`, { tools })).toMatchObject({ status: 503 });
    expect(await office.stores.mcpPins.list("notes")).toEqual([]);
  });

  test("of a server that does not answer are what was accepted, and it says so", async () => {
    const { goDown, review, accept, get } = await open(await openFresh(kind));
    const shown = await review();
    await accept(shown);
    goDown();
    expect((await get(path)).body).toMatchObject({
      servers: [{ server: "notes", isAvailable: false, tools: [{ tool: "echo", state: "pinned" }] }],
    });
  });

  test("of a server that there is none of are not found", async () => {
    const { get, post } = await open(await openFresh(kind));
    expect(await get(`${path}/other/review`)).toMatchObject({ status: 404, body: { error: { code: "not_found" } } });
    const tools = [{ tool: "echo", hash: "0".repeat(64) }];
    expect(await post(`${path}/other/accept`, { tools })).toMatchObject({ status: 404 });
  });
});
