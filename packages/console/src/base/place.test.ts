import { afterEach, expect, test, vi } from "vitest";

afterEach(() => {
  vi.unstubAllGlobals();
  vi.resetModules();
});

async function placeAt(pathname: string) {
  vi.stubGlobal("location", { origin: "http://host.test", pathname, search: "" });
  vi.stubGlobal("addEventListener", () => {});
  return (await import("./place.ts")).place.value;
}

test("an address names a tenant, a screen and what is on it", async () => {
  expect(await placeAt("/console/a%2Fb/turns/t1")).toMatchObject({ tenant: "a/b", screen: "turns", rest: ["t1"] });
});

for (const pathname of ["/console/%zz", "/console/demo/%zz", "/console/demo/turns/%"]) {
  test(`the address ${pathname} cannot be read, and is no other place`, async () => {
    expect(await placeAt(pathname)).toMatchObject({ isBroken: true, tenant: undefined, screen: "", rest: [] });
  });
}
