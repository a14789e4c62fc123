import { readBody } from "turnpike/http";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { around, hole, hostileParts, leastCpuMs, maxCpuMs } from "../../../turnpike/test/hostile-bodies.ts";
import { access, grant } from "../../test/records.ts";
import type { AdminRoute } from "./admin-route.ts";
import { adminRoutes } from "./admin-routes.ts";

/** The places of a JSON Schema where there may be a list of any length. */
function unboundedLists(schema: unknown, path = ""): string[] {
  if (typeof schema !== "object" || schema === null) return [];
  const isUnbounded = "type" in schema && schema.type === "array" && !("maxItems" in schema);
  const inside = Object.entries(schema).flatMap(([key, part]) => unboundedLists(part, `${path}/${key}`));
  return isUnbounded ? [path, ...inside] : inside;
}

for (const [name, { request }] of Object.entries<AdminRoute>(adminRoutes)) {
  if (request === undefined) continue;
  test(`every list in the body of ${name} has a bound`, () => {
    expect(unboundedLists(z.toJSONSchema(request, { io: "input" }))).toEqual([]);
  });
}

async function refusal(schema: z.ZodType, body: string): Promise<unknown> {
  try {
    await readBody(new Request("http://turnpike.test/", { method: "POST", body }), schema);
    return "none";
  } catch (error) {
    return (error as { code?: string }).code;
  }
}

describe("an operator's body is cheap to refuse, whatever comes", () => {
  const { createCredential, createGrant, changeNamespaces, revokeCredential } = adminRoutes;
  const [capability] = grant("g").capabilities;
  const actor = { kind: "agent", agentId: "a" };
  for (const { name, route, body } of [
    { name: "as a credential's purposes", route: createCredential, body: { access: { ...access, purposes: hole } } },
    { name: "as a credential's access", route: createCredential, body: { namespaceId: "t", access: hole } },
    { name: "as a grant's capabilities", route: createGrant, body: { ...grant("g"), capabilities: hole } },
    {
      name: "as actions",
      route: createGrant,
      body: { ...grant("g"), capabilities: [{ ...capability, actions: hole }] },
    },
    { name: "as names", route: changeNamespaces, body: { namespaceId: "t", actor, update: { enable: hole } } },
    { name: "as the whole body", route: revokeCredential, body: hole },
  ]) {
    test(name, async () => {
      for (const part of hostileParts) {
        const seen: unknown[] = [];
        const spent = await leastCpuMs(async () => seen.push(await refusal(route.request, around(body, part.text))));
        expect([part.name, seen[0], spent < maxCpuMs]).toEqual([part.name, "invalid_request", true]);
      }
    });
  }

  test("as 64 capabilities of nothing but mistakes", async () => {
    const mistakes = Array.from({ length: 64 }, () => 0);
    const wrong = { resource: { namespace: "files", path: mistakes }, actions: mistakes, scope: "exact" };
    const body = JSON.stringify({ ...grant("g"), capabilities: mistakes.map(() => wrong) });
    expect(await leastCpuMs(() => refusal(createGrant.request, body))).toBeLessThan(maxCpuMs);
  });
});
