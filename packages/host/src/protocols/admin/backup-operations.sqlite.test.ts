import { expect, test } from "vitest";
import { newLocation, openHost } from "../../../test/databases.ts";
import { openOffice } from "../../../test/office.ts";

test("there is one copy at a time, until its reader has all of it or leaves", async () => {
  const { handler, tokens } = await openOffice(await openHost(await newLocation("sqlite")));
  const backUp = async (): Promise<Response> => {
    const headers = { authorization: `Bearer ${tokens.operator}` };
    const answer = await handler(new Request("http://host/admin/v1/backup", { method: "POST", headers, body: "{}" }));
    if (answer === undefined) throw new Error("There is no such route.");
    return answer;
  };
  const slow = await backUp();
  expect(slow.status).toBe(200);
  const refused = await backUp();
  expect([refused.status, await refused.json()]).toMatchObject([
    409,
    { error: { code: "conflict", message: "Another backup is being made or sent right now. Wait until it is there." } },
  ]);
  await slow.body?.cancel();
  const read = await backUp();
  expect((await read.arrayBuffer()).byteLength).toBe(Number(read.headers.get("content-length")));
  const next = await backUp();
  expect(next.status).toBe(200);
  await next.body?.cancel();
});
