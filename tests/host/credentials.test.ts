import { beforeAll, describe, expect, test } from "vitest";
import { anyDatabase, newLocation } from "../../packages/host/test/databases.ts";
import { serveArgs } from "../support/effect-host.ts";
import { ask, type Answer } from "../../packages/host/test/host-calls.ts";
import { makeFolder, startHostProcess, type HostProcess } from "../support/host-process.ts";
import { revokeCredential } from "../support/host-stores.ts";
import { listCall, makeCredential, makeGrant, makeTenant } from "../support/host-world.ts";

const unrated = ["--set", "limits.requestsPerSecond=100000", "--set", "limits.burst=100000"];
const requestId = "3f1e6c8a-0000-4000-8000-000000000001";

/** All of an answer that a caller could tell two refusals apart by. */
function seen({ status, headers, text }: Answer): { status: number; headers: object; text: string } {
  const { date: _date, ...rest } = Object.fromEntries(headers);
  return { status, headers: rest, text };
}

for (const kind of anyDatabase) {
  describe(`tokens that are not good, on ${kind}`, () => {
    test("answer alike, byte for byte", async () => {
      const folder = makeFolder();
      const database = kind === "postgres" ? await newLocation(kind) : `${folder}/.turnpike/turnpike.db`;
      const args = serveArgs({ database }, ...unrated);
      const first = await startHostProcess({ folder, args });
      const good = await makeCredential(first);
      const revoked = await makeCredential(first);
      const expired = await makeCredential(first, { expiresAt: "2026-01-01T00:00:00Z" });
      await first.stop();
      await revokeCredential(database, revoked.id);
      const { url } = await startHostProcess({ folder, args });

      const headers = { "x-request-id": requestId };
      const withToken = (authorization?: string) =>
        ask(url, "/v1/reach", { headers: { ...headers, ...(authorization !== undefined && { authorization }) } });
      expect((await withToken(`Bearer ${good.token}`)).status).toBe(200);
      expect((await withToken(`bearer   ${good.token}`)).status).toBe(200);

      const missing = seen(await withToken());
      expect(missing).toEqual({
        status: 401,
        headers: {
          "cache-control": "no-store",
          connection: "keep-alive",
          "content-length": "155",
          "content-type": "application/json",
          "keep-alive": "timeout=65",
          "www-authenticate": 'Bearer realm="turnpike"',
          "x-content-type-options": "nosniff",
          "x-request-id": requestId,
        },
        text: `{"error":{"code":"unauthenticated","message":"Send a valid credential: authorization: Bearer <token>.","requestId":"${requestId}"}}`,
      });
      const otherSecret = good.token.slice(0, -64) + "0".repeat(64);
      for (const [name, authorization] of Object.entries({
        empty: "",
        "without a scheme": good.token,
        "another scheme": `Basic ${good.token}`,
        "no token": "Bearer ",
        garbled: "Bearer tp_zz",
        "two tokens": `Bearer ${good.token} ${good.token}`,
        "upper case": `Bearer ${good.token.toUpperCase()}`,
        unknown: `Bearer tp_${"0".repeat(16)}_${"0".repeat(64)}`,
        "another secret": `Bearer ${otherSecret}`,
        "a JWT where none is configured": "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.",
        expired: `Bearer ${expired.token}`,
        revoked: `Bearer ${revoked.token}`,
      })) {
        expect({ name, ...seen(await withToken(authorization)) }).toEqual({ name, ...missing });
      }
      for (const path of ["/v1/nothing", "/v1/tools", "/nothing"]) {
        expect({ path, ...seen(await ask(url, path, { headers })) }).toEqual({ path, ...missing });
      }
    });
  });
}

describe("what a request may choose", () => {
  let host: HostProcess;
  let token: string;
  beforeAll(async () => {
    host = await startHostProcess({ folder: makeFolder(), args: serveArgs({}, ...unrated) });
    token = await makeTenant(host, { purposes: ["support", "crème brûlée"] });
    await makeGrant(host, { id: "elsewhere", tenant: "other", resource: "files/notes", actions: ["list"] });
  });
  const reach = (headers: Record<string, string>) => ask(host.url, "/v1/reach", { token, headers });

  for (const row of [
    { name: "the default one", headers: {}, status: 200 },
    { name: "one that is allowed", headers: { "x-purpose": "support" }, status: 200 },
    { name: "an encoded one that is allowed", headers: { "x-purpose": "cr%C3%A8me br%C3%BBl%C3%A9e" }, status: 200 },
    { name: "one that is not", headers: { "x-purpose": "sabotage" }, status: 403 },
    { name: "an empty one", headers: { "x-purpose": "" }, status: 403 },
    { name: "two at once", headers: { "x-purpose": "support, support" }, status: 403 },
  ]) {
    test(`purpose: ${row.name} answers ${row.status}`, async () => {
      const { status, text } = await reach(row.headers as Record<string, string>);
      const isRefusal = text.startsWith(
        '{"error":{"code":"purpose_not_allowed","message":"This credential does not allow that purpose.",',
      );
      expect({ status, isRefusal }).toEqual({ status: row.status, isRefusal: row.status === 403 });
    });
  }

  const invoke = (id: string, headers: Record<string, string>) =>
    ask(host.url, "/v1/tools/invoke", { token, headers: { "x-trace-id": "t", ...headers }, body: listCall(id, "t") });

  test("x-authority selects whose grants are exercised and grants nothing", async () => {
    expect((await invoke("as-alice", { "x-authority": "human:alice" })).body).toMatchObject({ status: "succeeded" });
    expect((await invoke("as-bob", { "x-authority": "human:bob" })).body).toMatchObject({
      status: "denied",
      error: { code: "tool_unavailable" },
    });
    for (const authority of ["alice", "human:", "robot:alice", ":", "human:%20"]) {
      const refused = await invoke("without-a-grant", { "x-authority": authority });
      expect([authority, refused.status]).toEqual([authority, 400]);
      expect(refused.body).toMatchObject({
        error: { code: "invalid_request", message: "x-authority: expected kind:id, such as human:alice." },
      });
    }
  });

  const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
  const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  for (const row of [
    { name: "none", headers: {}, returned: uuid },
    { name: "x-trace-id", headers: { "x-trace-id": "mine" }, returned: /^mine$/ },
    { name: "traceparent", headers: { traceparent: parent }, returned: /^0af7651916cd43dd8448eb211c80319c$/ },
    { name: "both", headers: { "x-trace-id": "mine", traceparent: parent }, returned: /^mine$/ },
    { name: "a broken traceparent", headers: { traceparent: "00-xyz-1-01" }, returned: uuid },
    { name: "an x-trace-id too long", headers: { "x-trace-id": "a".repeat(257) }, returned: uuid },
    { name: "an encoded text", headers: { "x-trace-id": "%E2%82%AC 5%25" }, returned: /^%E2%82%AC 5%25$/ },
    { name: "encoded line breaks", headers: { "x-trace-id": "a%0D%0Ab: c" }, returned: /^a%0D%0Ab: c$/ },
    { name: "only an encoded blank", headers: { "x-trace-id": "%20" }, returned: uuid },
    { name: "a broken encoding", headers: { "x-trace-id": "100%" }, returned: /^100%(25)?$/ },
  ]) {
    test(`trace id: ${row.name} is answered and returned as x-trace-id`, async () => {
      const answer = await reach(row.headers as Record<string, string>);
      expect(answer.status).toBe(200);
      expect(answer.headers.get("x-trace-id")).toMatch(row.returned);
    });
  }

  test("a call whose trace is written in any script is answered", async () => {
    const headers = { "x-trace-id": "%E8%B7%9F%E8%B8%AA" };
    const answer = await ask(host.url, "/v1/tools/invoke", { token, headers, body: listCall("script", "跟踪") });
    expect(answer.body).toMatchObject({ status: "succeeded" });
  });

  test("an agent's credential is no operator's", async () => {
    for (const path of ["/admin/v1/credentials", "/admin/v1/grants", "/admin/v1/nothing"]) {
      const answer = await ask(host.url, path, { token, body: {} });
      expect([path, answer.status]).toEqual([path, 403]);
      expect(answer.body).toMatchObject({ error: { code: "permission_denied" } });
      expect((await ask(host.url, path, { body: {} })).status).toBe(401);
    }
  });
});
