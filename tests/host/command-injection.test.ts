import { existsSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { anyDatabase } from "../../packages/host/test/databases.ts";
import { ask, eventually } from "../../packages/host/test/host-calls.ts";
import type { HostProcess } from "../support/host-process.ts";
import { assistant, makeCredential, makeGrant } from "../support/host-world.ts";
import { command, commandJson, paste, startAskingHost, words, type Printed } from "../support/terminal.ts";

/** Clears the screen, colours, renames the window, breaks lines, turns around and hides. */
const hostile = "a\u001b[2J\u001b[31mb\u001b]0;owned\u0007\r\nALLOWED\u009b1Ac\u202ed\u2028e\u200bf\u007f";
/** The same as far as a path segment may hold it. */
const hostilePath = "a\u202eb\u2028c\u200bd'$(touch hacked)`touch hacked`";

/** What a terminal obeys, besides the line breaks that end our own lines. */
const obeyed = /(?!\n)[\p{Cc}\p{Cf}\u2028\u2029]/u;

/** How many lines a command printed, and the first thing in them that a terminal obeys. */
function seen({ stdout, stderr }: Printed): { lines: number; obeyed: string | undefined } {
  const text = `${stdout}${stderr}`;
  return { lines: text.split("\n").length - 1, obeyed: obeyed.exec(text)?.[0] };
}

const harmless = { obeyed: undefined };

describe.each(anyDatabase)("what others wrote is only shown, on %s", (kind) => {
  let host: HostProcess;
  let token: string;
  beforeAll(async () => {
    host = await startAskingHost(kind);
    const grants = { files: ["*"], "service.messaging": ["*"], "service.execution": ["*"], service: ["*"] };
    for (const [resource, actions] of Object.entries(grants))
      await makeGrant(host, { id: resource, resource, actions });
    ({ token } = await makeCredential(host));
    const enable = ["files", "messages", "service"];
    await ask(host.url, "/v1/tools/namespaces", { token, method: "PUT", body: { enable } });
  });

  const turn = (payload: unknown): string[] =>
    words`turn --agent assistant --from human:alice --purpose support --message ${JSON.stringify(payload)}`;
  const capability = {
    resource: { namespace: hostile, path: [hostilePath] },
    actions: [hostile, "read"],
    scope: "exact",
  };
  const asking = { escalate: { reason: hostile, requestedAuthority: { capabilities: [capability] } } };

  test("the reason and the wishes of an agent, when its turn ends with an escalation", async () => {
    const printed = await command(host, turn(asking), token);
    expect(printed).toMatchObject({ code: 0, stderr: "" });
    expect(seen(printed)).toEqual({ lines: 3, ...harmless });
  });

  test("principals, places and grants, in the lists of who can do what", async () => {
    const tenant = `reached-${kind}`;
    const subject = { kind: "agent", agentId: hostile };
    await ask(host.url, "/admin/v1/grants", {
      token: host.operatorToken(),
      body: {
        id: hostile,
        namespaceId: tenant,
        subject,
        issuer: { kind: "human", userId: "alice" },
        capabilities: [{ ...capability, resource: { namespace: "files", path: [hostilePath] } }],
        constraints: { purposes: [hostile] },
        issuedAt: "2026-01-01T00:00:00Z",
      },
    });
    for (const [args, lines] of [
      [words`principal list --tenant ${tenant}`, 3],
      [words`reach show --tenant ${tenant} --actor ${`agent:${hostile}`} --purpose ${hostile}`, 2],
      [words`reach show --tenant ${tenant} --actor ${`agent:${hostile}`}`, 1],
      [words`reach who --tenant ${tenant} --resource ${`files/${hostilePath}`}`, 2],
    ] as const) {
      const printed = await command(host, args);
      expect(printed.code).toBe(0);
      expect(seen(printed)).toEqual({ lines, ...harmless });
    }
  });

  test("the reason and the wishes of an agent, in the list of escalations and in its approval", async () => {
    await command(host, turn(asking), token);
    const listed = await command(host, words`escalation list --tenant acme`);
    expect(listed.code).toBe(0);
    // It is longer than what is shown of it: no command is offered that approves it.
    expect(seen(listed)).toEqual({ lines: 5, ...harmless });
    const lineWith = (printed: Printed, what: string): string =>
      printed.stdout.split("\n").find((one) => one.includes(what)) ?? "";
    const shown = await paste(host.folder, lineWith(listed, "  turnpike escalation show"));
    const whole = await paste(host.folder, lineWith(shown, "  turnpike escalation show"));
    const approve = lineWith(whole, "  turnpike escalation approve");
    expect(approve).toMatch(/ --full$/);
    const refused = await paste(host.folder, approve.replace(/ --full$/, ""));
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/^Not approved: this is longer than what is shown of it/);
    const approved = await paste(host.folder, approve);
    for (const printed of [shown, whole, refused, approved]) expect(seen(printed)).toMatchObject(harmless);
    expect([shown.code, whole.code, approved.code]).toEqual([0, 0, 0]);
  });

  test("the approved wishes of an agent, in the list of grants", async () => {
    const listed = await command(host, words`grant list --tenant acme`);
    expect(listed.code).toBe(0);
    expect(seen(listed)).toMatchObject(harmless);
  });

  test("what a turn answers, streams and fails with", async () => {
    const [answered, followed, failed] = await Promise.all([
      command(host, turn({ text: hostile, [hostile]: 1 }), token),
      command(host, [...turn({ text: hostile }), "--follow"], token),
      command(host, turn({ fail: { code: "too_hard", message: hostile } }), token),
    ]);
    expect([answered.code, followed.code, failed.code]).toEqual([0, 0, 1]);
    for (const printed of [answered, followed, failed]) expect(seen(printed)).toMatchObject(harmless);
  });

  test("the id, the events and the escalation of a turn that runs without its caller", async () => {
    const message = JSON.stringify({ ask: { reason: hostile, requestedAuthority: { capabilities: [capability] } } });
    const start = words`turn start --id ${hostile} --agent assistant --from human:alice --purpose support --message ${message}`;
    const started = await command(host, start, token);
    expect(started.code).toBe(0);
    expect(seen(started)).toEqual({ lines: 2, ...harmless });
    await eventually(async () =>
      expect((await command(host, words`turn show ${hostile}`, token)).stdout).toContain("It waits for"),
    );
    for (const printed of [
      await command(host, words`turn show ${hostile}`, token),
      await command(host, words`turn show ${hostile} --tenant acme`),
      await command(host, words`turn list`, token),
      await command(host, words`turn list --tenant acme`),
      await command(host, words`escalation list --tenant acme`),
      await command(host, words`turn cancel ${hostile} --tenant acme`),
      await command(host, words`turn follow ${hostile}`, token),
    ])
      expect(seen(printed)).toMatchObject(harmless);
  });

  test("the id and the payload of a message, in an inbox", async () => {
    const envelope = {
      version: 1,
      id: hostile,
      createdAt: "2026-01-01T00:00:00Z",
      traceId: "post",
      purpose: "support",
      sender: assistant,
      receiver: assistant,
      payload: { [hostile]: hostile },
    };
    const headers = { "x-trace-id": "post" };
    expect((await ask(host.url, "/v1/messages", { token, headers, body: envelope })).status).toBe(202);
    const printed = await command(host, words`message inbox`, token);
    expect(printed.code).toBe(0);
    expect(seen(printed)).toEqual({ lines: 3, ...harmless });
  });

  test("what a tool answers", async () => {
    const printed = await command(host, words`tools call messages.inbox`, token);
    expect(printed.code).toBe(0);
    expect(printed.stdout).toContain("ALLOWED");
    expect(seen(printed)).toMatchObject(harmless);
  });

  test("the names and lines of files, and the labels of snapshots", async () => {
    const path = `notes/${hostilePath}`;
    const created = await command(host, words`files create ${path} --content ${`water ${hostile}\n`}`, token);
    expect(created.code).toBe(0);
    const snapshot = await command(host, words`files snapshot create notes --label ${hostile}`, token);
    expect(snapshot.code).toBe(0);
    for (const [args, lines] of [
      [words`files list notes`, 2],
      [words`files search water --in notes`, 2],
      [words`files grep water --in notes`, 2],
      [words`files snapshot list notes`, 2],
    ] as const) {
      const printed = await command(host, args, token);
      expect(printed.code).toBe(0);
      expect(seen(printed)).toEqual({ lines: lines, ...harmless });
    }
    for (const printed of [created, snapshot]) expect(seen(printed)).toMatchObject(harmless);
  });

  test("the trace and the action that an agent chose, in the audit log", async () => {
    const headers = { "x-trace-id": encodeURIComponent(hostile) };
    const operation = { operationId: "o1", action: hostile, resource: { namespace: "mail", path: [hostilePath] } };
    expect((await ask(host.url, "/v1/resources/invoke", { token, headers, body: operation })).body).toMatchObject({
      status: "denied",
    });
    const listed = await command(host, words`audit list --tenant acme --outcome denied`);
    expect(listed.code).toBe(0);
    expect(listed.stdout).toContain(" mail/");
    expect(seen(listed)).toEqual({ lines: 3, ...harmless });
  });

  test("the ids of grants, when there is a next page, and when they fall", async () => {
    const tenant = "ids";
    const create = words`grant create --tenant ${tenant} --to agent:a --from human:alice --resource files --action read`;
    await command(host, [...create, ...words`--depth 1 --id ${`1${hostile}`}`]);
    await command(
      host,
      words`grant derive ${`1${hostile}`} --tenant ${tenant} --to ${`agent:${hostile}`} --id ${`2${hostile}`}`,
    );
    const listed = await command(host, words`grant list --tenant ${tenant} --limit 1`);
    expect(listed.code).toBe(0);
    expect(listed.stdout).toContain("--cursor ");
    expect(seen(listed)).toEqual({ lines: 3, ...harmless });
    const revoked = await command(host, words`grant revoke ${`1${hostile}`} --tenant ${tenant}`);
    expect(revoked.code).toBe(0);
    expect(seen(revoked)).toEqual({ lines: 2, ...harmless });
  });

  test("an action that no shell can hold is never a command, which would grant something else", async () => {
    for (const [trace, action] of Object.entries({ nul: "*\u0000", half: "read\ud800" })) {
      const operation = { operationId: trace, action, resource: { namespace: "mail", path: ["inbox"] } };
      await ask(host.url, "/v1/resources/invoke", { token, headers: { "x-trace-id": trace }, body: operation });
      const { stdout } = await command(host, words`why --tenant acme --trace ${trace}`);
      expect(stdout).toContain("\n  POST /admin/v1/grants {");
      expect(stdout).not.toContain("--action");
    }
  });

  test("the action that an agent chose for a denied act, in the command that would allow it", async () => {
    const trace = "chosen";
    const operation = { operationId: "o2", action: `x${hostile}`, resource: { namespace: "mail", path: ["inbox"] } };
    const headers = { "x-trace-id": trace };
    await ask(host.url, "/v1/resources/invoke", { token, headers, body: operation });
    const explained = await command(host, words`why --tenant acme --trace ${trace}`);
    expect(explained.code).toBe(0);
    expect(seen(explained)).toMatchObject(harmless);
    const line = explained.stdout.trimEnd().split("\n").at(-1) ?? "";
    const pasted = await paste(host.folder, `${line} --id chosen`);
    expect(pasted).toMatchObject({ code: 0, stdout: "Issued chosen.\n" });
    // It has a warning: nothing on the host knows such a name.
    expect(seen(pasted)).toEqual({ lines: 2, ...harmless });
    expect(
      (
        await command(
          host,
          words`why --tenant acme --actor agent:assistant --owner human:alice --purpose support
      --action ${`x${hostile}`} --resource mail/inbox`,
        )
      ).stdout,
    ).toMatch(/^ALLOWED /);
  });
});

describe("a suggested command", () => {
  let host: HostProcess;
  beforeAll(async () => {
    host = await startAskingHost("sqlite");
  });

  /** Everything that a shell or the command itself could take for something else. */
  const rows = [
    { name: "spaces", word: "a b  c" },
    { name: "quotes", word: `it's "so"` },
    { name: "a command to run", word: "$(touch hacked)`touch hacked`;touch hacked&&touch hacked|touch hacked" },
    { name: "a quote that ends the quoting", word: "'; touch hacked; '" },
    { name: "variables and patterns", word: "$HOME ${PATH} ~ * ? [a] {b,c} !! #d" },
    { name: "a dash in front", word: "-rf" },
    { name: "two dashes in front", word: "--exact" },
    { name: "an equals sign", word: "--tenant=other" },
    { name: "a comma", word: "a,b" },
    { name: "backslashes", word: "a\\b\\", isNoPath: true },
    { name: "letters of many scripts", word: "crème 跟踪 🙂" },
    { name: "line breaks and escapes", word: "a\n\u001b[31mb\r\u0007\u009bc", isNoPath: true },
    { name: "what turns around and hides", word: "a\u202eb\u2028c\u200b" },
  ];
  for (const { name, word, isNoPath = false } of rows) {
    test(`is on one line, works as pasted and grants exactly what was asked: ${name}`, async () => {
      const segment = isNoPath ? "diary.md" : word;
      const why = words`
        why --tenant=${word} --actor ${`agent:${word}`} --owner ${`human:${word}`} --purpose=${word}
        --action=${word} --resource ${`files/${segment}/${segment}`}`;
      const denied = await command(host, why);
      expect(denied.code).toBe(0);
      // Six lines, and a warning each of the tenant and the action, which nothing on the host knows.
      expect(seen(denied)).toEqual({ lines: 8, ...harmless });
      const line = denied.stdout.trimEnd().split("\n").at(-1) ?? "";
      expect(line).toMatch(/^ {2}turnpike grant create /);

      const pasted = await paste(host.folder, `${line} --id pasted`);
      expect(pasted).toMatchObject({ code: 0, stdout: "Issued pasted.\n" });
      expect(seen(pasted)).toEqual({ lines: 2, ...harmless });
      expect(existsSync(join(host.folder, "hacked"))).toBe(false);
      const owner = { kind: "human", userId: word };
      expect(await commandJson(host, words`grant list --tenant=${word}`)).toEqual({
        grants: [
          {
            state: "live",
            grant: {
              id: "pasted",
              namespaceId: word,
              subject: { kind: "agent", agentId: word },
              issuer: owner,
              capabilities: [
                {
                  resource: { namespace: "files", path: [segment, segment], owner },
                  actions: [word],
                  scope: "exact",
                },
              ],
              constraints: { purposes: [word] },
              issuedAt: expect.any(String),
            },
          },
        ],
      });
      expect((await command(host, why)).stdout).toMatch(/^ALLOWED /);
    });
  }
});
