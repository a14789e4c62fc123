import { describe, expect, test } from "vitest";
import { impossibleUsers, serversAsOwnUser } from "./isolation.ts";
import { McpConfigSchema } from "./mcp-config.ts";

const root = { uid: 0, gid: 0 };
const plain = { uid: 1000, gid: 1000 };
const command = ["notes"];
const configOf = (server: object) => McpConfigSchema.parse({ servers: { notes: server } });

describe("a server as another user", () => {
  const server = configOf({ command, uid: 2000, gid: 2000 });

  test("can be started by root", () => expect(impossibleUsers(server, root)).toEqual([]));

  test("cannot be started by another user, who is told what to do", () => {
    expect(impossibleUsers(server, plain)).toEqual([
      {
        server: "notes",
        says:
          "mcp.servers.notes.uid: a server cannot be started as user 2000: the host runs as user 1000, and only root can. " +
          "Run the host as root, or leave uid and gid out and run the server in a container.",
      },
    ]);
  });

  test("in another group than the host's cannot be started either", () => {
    expect(impossibleUsers(configOf({ command, uid: 1000, gid: 2000 }), plain)).toHaveLength(1);
  });

  test("that is the host's own can be started", () => {
    expect(impossibleUsers(configOf({ command, ...plain }), plain)).toEqual([]);
  });
});

describe("a server that could read what the host can", () => {
  for (const row of [
    { name: "is one without a user", server: { command }, own: plain, isSaid: true },
    { name: "is one without a user, of a host that is root", server: { command }, own: root, isSaid: true },
    { name: "is one with the host's own user", server: { command, ...plain }, own: plain, isSaid: true },
    { name: "is one in a folder of the operator's choice", server: { command, cwd: "/srv" }, own: plain, isSaid: true },
    { name: "is not one with another user", server: { command, ...plain }, own: root, isSaid: false },
    { name: "is not one elsewhere", server: { url: "https://notes.example.com" }, own: plain, isSaid: false },
    { name: "is not one in a container", server: { command: ["docker", "run", "notes"] }, own: plain, isSaid: false },
    { name: "is not one in a container by path", server: { command: ["/usr/bin/podman"] }, own: plain, isSaid: false },
  ]) {
    test(row.name, () => {
      const says =
        "The MCP server notes runs as the host's own user: it could read the operator's token and the database. " +
        "Give it a uid and gid of its own, or run it in a container.";
      expect(serversAsOwnUser(configOf(row.server), row.own)).toEqual(row.isSaid ? [{ server: "notes", says }] : []);
    });
  }
});
