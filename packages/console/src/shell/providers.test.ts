import { expect, test } from "vitest";
import { signInAddress } from "./providers.ts";

test("a sign-in with a provider leads back to the page that is open", () => {
  expect(signInAddress("Acme & Co", { pathname: "/console/acme/turns", search: "?filter=1" })).toBe(
    "/sign-in?to=%2Fconsole%2Facme%2Fturns%3Ffilter%3D1&provider=Acme+%26+Co",
  );
});
