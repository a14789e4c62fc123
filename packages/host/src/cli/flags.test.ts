import { describe, expect, test } from "vitest";
import { ConfigError } from "../shared/config.ts";
import { principalText, resourceText } from "../display/index.ts";
import { readCount, readExpiry, readJsonFlag, readPrincipal, readResource } from "./flags.ts";

/** What a reader of flags says about a text it does not take. */
function problemOf(read: () => unknown): string {
  try {
    return `took it: ${JSON.stringify(read())}`;
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
}

describe("a principal", () => {
  for (const row of [
    { text: "human:alice", principal: { kind: "human", userId: "alice" } },
    { text: "agent:assistant", principal: { kind: "agent", agentId: "assistant" } },
    { text: "group:team", principal: { kind: "group", conversationId: "team" } },
    { text: "service:mail", principal: { kind: "service", serviceId: "mail" } },
    { text: "human:a:b c", principal: { kind: "human", userId: "a:b c" } },
    { text: "agent:-x", principal: { kind: "agent", agentId: "-x" } },
  ] as const) {
    test(`${row.text} is read, and written back as it was`, () => {
      expect(readPrincipal("--to", row.text)).toEqual(row.principal);
      expect(principalText(row.principal)).toBe(row.text);
    });
  }

  for (const text of ["", "alice", ":", "human:", ":alice", "robot:alice", "Human:alice", "human: ", " human:alice"]) {
    test(`${JSON.stringify(text)} is none, and the flag is named`, () => {
      expect(problemOf(() => readPrincipal("--to", text))).toBe(
        `--to ${text}: expected kind:id, such as human:alice or agent:assistant.`,
      );
    });
  }
});

describe("a resource", () => {
  for (const row of [
    { text: "files", resource: { namespace: "files", path: [] } },
    { text: "files/notes", resource: { namespace: "files", path: ["notes"] } },
    { text: "files/notes/to do.md", resource: { namespace: "files", path: ["notes", "to do.md"] } },
    // As argument rules of MCP servers write a URL and a file: nothing is decoded here, so a grant is for exactly that.
    {
      text: "mcp.web/fetch/url/https:%2F%2Fx.org%2Fa%2520b",
      resource: { namespace: "mcp.web", path: ["fetch", "url", "https:%2F%2Fx.org%2Fa%2520b"] },
    },
    { text: "mcp.disk/read/%2E%2E", resource: { namespace: "mcp.disk", path: ["read", "%2E%2E"] } },
    { text: "service.messaging/human/bob", resource: { namespace: "service.messaging", path: ["human", "bob"] } },
  ]) {
    test(`${row.text} is read, and written back as it was`, () => {
      expect(readResource(row.text)).toEqual(row.resource);
      expect(resourceText(row.resource)).toBe(row.text);
    });
  }

  test("a slash at the end changes nothing", () => {
    expect(readResource("files/notes/")).toEqual({ namespace: "files", path: ["notes"] });
    expect(readResource("files/")).toEqual({ namespace: "files", path: [] });
  });

  test("steps are passed as they are, so that the host refuses what is no path", () => {
    expect(readResource("files/../x")).toEqual({ namespace: "files", path: ["..", "x"] });
    expect(readResource("/files")).toEqual({ namespace: "", path: ["files"] });
    expect(readResource("")).toEqual({ namespace: "", path: [] });
  });

  test("an empty step is refused, and how a slash is written is said", () => {
    expect(problemOf(() => readResource("mcp.disk/read//tmp/a"))).toBe(
      "--resource mcp.disk/read//tmp/a: a step of the path is empty. A slash inside of a step is written %2F.",
    );
  });
});

describe("an expiry", () => {
  const now = new Date("2026-01-01T12:00:00Z");
  for (const row of [
    { text: "1s", at: "2026-01-01T12:00:01.000Z" },
    { text: "30m", at: "2026-01-01T12:30:00.000Z" },
    { text: "1h", at: "2026-01-01T13:00:00.000Z" },
    { text: "24h", at: "2026-01-02T12:00:00.000Z" },
    { text: "7d", at: "2026-01-08T12:00:00.000Z" },
    { text: "999999d", at: "4763-11-28T12:00:00.000Z" },
    { text: "2026-01-31T12:00:00Z", at: "2026-01-31T12:00:00Z" },
    { text: "2026-01-31T12:00:00.5+02:00", at: "2026-01-31T12:00:00.5+02:00" },
  ]) {
    test(`${row.text} ends at ${row.at}`, () => expect(readExpiry("--expires", row.text, now)).toBe(row.at));
  }

  const bad = [
    "",
    "0m",
    "-1h",
    "1",
    "h",
    "1w",
    "1.5h",
    "01h",
    "1h30m",
    "1 h",
    "1H",
    "1h\n",
    "1000000d",
    "soon",
    "today",
  ];
  for (const text of [...bad, "2026-01-31", "2026-01-31T12:00:00", "2026-02-30T12:00:00Z"]) {
    test(`${JSON.stringify(text)} is none, and the flag is named`, () => {
      expect(problemOf(() => readExpiry("--expires", text, now))).toBe(
        `--expires ${text}: expected a span such as 30m, 1h or 7d, or a time such as 2026-01-31T12:00:00Z.`,
      );
    });
  }
});

describe("a count", () => {
  for (const text of ["1", "20", "999999999"]) {
    test(`${text} is one`, () => expect(readCount("--uses", text)).toBe(Number(text)));
  }

  for (const text of ["", "0", "-1", "1.5", "01", "1e3", "0x10", " 1", "1\n", "many", "1000000000", "NaN"]) {
    test(`${JSON.stringify(text)} is none, and the flag is named`, () => {
      expect(problemOf(() => readCount("--uses", text))).toBe(`--uses ${text}: expected a whole number from 1.`);
    });
  }
});

describe("JSON on a flag", () => {
  test("is read", () => expect(readJsonFlag("--args", '{"path":["a",1,null]}')).toEqual({ path: ["a", 1, null] }));

  test("with a number that parsing would change is refused, with its place and what to do", () => {
    expect(problemOf(() => readJsonFlag("--args", '{"id":[0,9007199254740993]}'))).toBe(
      "--args: /id/1: expected a whole number from -9007199254740991 to 9007199254740991; send any other as a string.",
    );
    expect(problemOf(() => readJsonFlag("--args", '{"rate":1e-400}'))).toBe(
      "--args: /rate: expected a number that is not rounded to 0; send it as a string.",
    );
  });

  test("that is none is refused without repeating it: it may hold a secret", () => {
    expect(problemOf(() => readJsonFlag("--args", "{hunter2"))).toBe(
      `--args: expected JSON, such as '{"path":"notes/todo.md"}'.`,
    );
  });
});
