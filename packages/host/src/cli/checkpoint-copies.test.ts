import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { temporaryFolder } from "../../test/databases.ts";
import { beginning, placeBehind, signLine } from "../audit/checkpoint.ts";
import { openSigningKey, type SigningKey } from "../audit/signing-key.ts";
import { copyCheckpoints, verifyAgainstFile } from "./checkpoint-copies.ts";

let folder: string;
let key: SigningKey;
let stranger: SigningKey;

beforeEach(() => {
  folder = temporaryFolder();
  key = openSigningKey(join(folder, "key.pem"));
  stranger = openSigningKey(join(folder, "stranger.pem"));
  vi.stubEnv("TURNPIKE_ADMIN_TOKEN", "tp_x");
  onTestFinished(() => void vi.unstubAllEnvs());
});

async function linesOf(count: number, signer: SigningKey): Promise<string[]> {
  const lines: string[] = [];
  let place = beginning;
  for (let sequence = 1; sequence <= count; sequence += 1) {
    const heads = [{ namespaceId: "acme", strand: 0, sequence, hash: "a".repeat(64) }];
    const line = await signLine(place, { at: "2026-01-01T12:00:00.000Z", host: 1, heads }, signer);
    lines.push(line);
    place = placeBehind(line, place);
  }
  return lines;
}

/** A host that has these lines and hands over so many at a time; it records what was asked of it. */
async function startHost(lines: readonly string[], atOnce = 2) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://host");
    asked.push(`${request.method} ${pathname}`);
    const text = `${lines.join("\n")}\n`.slice(Number(searchParams.get("from") ?? 0));
    const rest = text.split("\n").slice(0, -1);
    const answers: Readonly<Record<string, object>> = {
      "/admin/v1/audit/key": { id: key.id, publicKey: key.pem },
      "/admin/v1/audit/checkpoints": { lines: rest.slice(0, atOnce), isEnd: rest.length <= atOnce },
      "/admin/v1/audit/verify": { isWhole: true },
    };
    response.setHeader("content-type", "application/json").end(JSON.stringify(answers[pathname]));
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { asked, flags: { url, database: "none", key: join(folder, "key.pem") } };
}

test("a copy is the host's file to the byte, whatever the pages, and continues from where it is", async () => {
  const lines = await linesOf(7, key);
  const copy = join(folder, "copy.jsonl");
  const before = await startHost(lines.slice(0, 5));
  expect(await copyCheckpoints(before.flags, copy)).toEqual({ file: copy, added: 5, sequence: 5, key: key.id });
  const { flags, asked } = await startHost(lines);
  expect(await copyCheckpoints(flags, copy)).toMatchObject({ added: 2, sequence: 7 });
  expect(await copyCheckpoints(flags, copy)).toMatchObject({ added: 0, sequence: 7 });
  expect(readFileSync(copy, "utf8")).toBe(`${lines.join("\n")}\n`);
  // The operator's own key is trusted, and the host is not asked for one.
  expect(new Set(asked)).toEqual(new Set(["GET /admin/v1/audit/checkpoints"]));
});

test("checkpoints that another key signed are not added, though the host vouches for it", async () => {
  const copy = join(folder, "copy.jsonl");
  const { flags } = await startHost(await linesOf(1, stranger));
  await expect(copyCheckpoints(flags, copy)).rejects.toThrow(
    /do not go on from those in the file; nothing was added\. line 1 is signed by the key/,
  );
  expect(existsSync(copy)).toBe(false);
});

test("checkpoints that do not continue those in the file are not added", async () => {
  const copy = join(folder, "copy.jsonl");
  const [first = ""] = await linesOf(1, key);
  writeFileSync(copy, `${first}\n`);
  const others = (await linesOf(3, stranger)).slice(1);
  const { flags } = await startHost([first, ...others]);
  await expect(copyCheckpoints(flags, copy)).rejects.toThrow(/line 2 does not go on from the line before/);
  expect(readFileSync(copy, "utf8")).toBe(`${first}\n`);
});

test("a file of something else is not written to, though it has no end of line", async () => {
  const copy = join(folder, "notes.txt");
  writeFileSync(copy, "my only copy");
  const { flags } = await startHost(await linesOf(2, key));
  await expect(copyCheckpoints(flags, copy)).rejects.toThrow("this is no file of checkpoints, and was left as it is");
  expect(readFileSync(copy, "utf8")).toBe("my only copy");
});

test("a file is held against the audit log five hundred heads at a time, once it is known to be signed", async () => {
  const { flags, asked } = await startHost([]);
  const copy = join(folder, "copy.jsonl");
  writeFileSync(copy, `${(await linesOf(1001, key)).join("\n")}\n`);
  expect(await verifyAgainstFile({ ...flags, tenant: "acme" }, copy)).toEqual({ file: copy, key: key.id, heads: 1001 });
  expect(asked).toEqual(Array.from({ length: 3 }, () => "POST /admin/v1/audit/verify"));
  expect(await verifyAgainstFile({ ...flags, tenant: "other" }, copy)).toMatchObject({ heads: 0 });
  writeFileSync(copy, `${(await linesOf(3, stranger)).join("\n")}\n`);
  await expect(verifyAgainstFile({ ...flags, tenant: "acme" }, copy)).rejects.toThrow("is signed by the key");
  writeFileSync(copy, "");
  await expect(verifyAgainstFile({ ...flags, tenant: "acme" }, copy)).rejects.toThrow("has no checkpoint in it");
});
