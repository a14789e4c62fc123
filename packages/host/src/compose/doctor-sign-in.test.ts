import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../test/databases.ts";
import { signInProviderOfTest } from "../../test/sign-in-provider.ts";
import { SignInConfigSchema } from "../people/index.ts";
import { checkSignIn } from "./doctor-sign-in.ts";

const configured = (issuer: string, more: object = {}) =>
  SignInConfigSchema.parse({ issuer, clientId: "turnpike", name: "Acme", people: { tenant: "acme" }, ...more });

test("nothing is said of providers where there are none", async () => {
  expect(await checkSignIn(undefined)).toEqual([]);
});

test("a provider that answers is fine, and one that does not is named with what to check", async () => {
  const provider = await signInProviderOfTest({ sub: "alice" });
  const { issuer } = provider;
  expect(await checkSignIn(configured(issuer))).toMatchObject([
    { isOk: true, says: `${issuer} answers as an identity provider` },
  ]);
  provider.misbehavior = { status: 404 };
  expect(await checkSignIn(configured(issuer))).toMatchObject([
    {
      isOk: false,
      says: expect.stringMatching(/does not answer as an identity provider \(.+\)\. Check signIn\.issuer/),
    },
  ]);
});

test("a secret that is not there, or is empty, is found before anyone signs in", async () => {
  const { issuer } = await signInProviderOfTest({ sub: "alice" });
  const file = join(temporaryFolder(), "secret");
  expect(await checkSignIn(configured(issuer, { clientSecretFile: file }))).toMatchObject([
    { isOk: false, says: `${file} does not exist. Correct clientSecretFile of Acme.` },
  ]);
  writeFileSync(file, "\n");
  expect(await checkSignIn(configured(issuer, { clientSecretFile: file }))).toMatchObject([{ isOk: false }]);
  writeFileSync(file, "secret\n");
  expect(await checkSignIn(configured(issuer, { clientSecretFile: file }))).toMatchObject([{ isOk: true }]);
});
