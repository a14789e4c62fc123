import { expect, test } from "vitest";
import { sharedDatabase } from "../../test/databases.ts";
import { bobAs } from "../../test/operators.ts";
import { access } from "../../test/records.ts";
import { openStores } from "../compose/stores.ts";
import { consoleLink, createCodeFor } from "./begin-session.ts";

const open = sharedDatabase("sqlite");

test("the bearer of an operator's token gets a code without a request, which the audit log says", async () => {
  const stores = openStores(await open());
  const { id, token } = await stores.credentials.create({ namespaceId: "operators", access: bobAs("auditor", "acme") });
  const { code } = await createCodeFor(stores, token);
  const proof = await stores.sessions.verifyCode(code, new Date());
  expect(proof?.credential).toMatchObject({ id, access: bobAs("auditor", "acme") });
  const [made] = await stores.audit.list("operators", { limit: 1 });
  expect(made?.event).toMatchObject({
    action: "code.create",
    outcome: "succeeded",
    metadata: { code: proof?.codeId, operator: id },
  });
});

test("no other bearer gets one", async () => {
  const stores = openStores(await open());
  const agent = await stores.credentials.create({ namespaceId: "acme", access });
  const gone = await stores.credentials.create({ namespaceId: "operators", access: bobAs("admin") });
  await stores.credentials.revoke(gone.id, new Date().toISOString());
  for (const token of [agent.token, gone.token, "tp_unknown", ""])
    await expect(createCodeFor(stores, token)).rejects.toThrow("The token is not an operator's.");
});

test("the link with a code has it where no server sees it", () => {
  expect(consoleLink("https://gate.example", "code-1")).toBe("https://gate.example/console/#code=code-1");
});
