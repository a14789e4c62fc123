import { basename } from "node:path";
import type { McpConfig, McpServerConfig } from "./mcp-config.ts";
import type { ServerUser } from "./server-folder.ts";

/** A remark about a configured server. */
export interface ServerRemark {
  server: string;
  says: string;
}

/** The user that this process runs as; undefined on a system without user numbers. */
function ownUser(): ServerUser | undefined {
  const [uid, gid] = [process.getuid?.(), process.getgid?.()];
  return uid === undefined || gid === undefined ? undefined : { uid, gid };
}

/** The servers whose configured user this process cannot start a program as. */
export function impossibleUsers({ servers }: McpConfig, own = ownUser()): ServerRemark[] {
  return Object.entries(servers).flatMap(([server, { uid, gid }]) => {
    if (uid === undefined || own?.uid === 0 || (own?.uid === uid && own.gid === gid)) return [];
    const why =
      own === undefined ? "this system has no such users" : `the host runs as user ${own.uid}, and only root can`;
    const next = "Run the host as root, or leave uid and gid out and run the server in a container.";
    return [{ server, says: `mcp.servers.${server}.uid: a server cannot be started as user ${uid}: ${why}. ${next}` }];
  });
}

/** The servers that run as the host's own user, and so can read everything that the host can. */
export function serversAsOwnUser({ servers }: McpConfig, own = ownUser()): ServerRemark[] {
  return Object.entries(servers).flatMap(([server, config]) => {
    if (config.command === undefined || isContainer(config) || (config.uid !== undefined && config.uid !== own?.uid)) {
      return [];
    }
    const says =
      `The MCP server ${server} runs as the host's own user: it could read the operator's token and the database. ` +
      "Give it a uid and gid of its own, or run it in a container.";
    return [{ server, says }];
  });
}

/** Whether the command starts a container, inside which the server runs. */
function isContainer({ command = [] }: McpServerConfig): boolean {
  return ["docker", "podman", "nerdctl"].includes(basename(command[0] ?? ""));
}
