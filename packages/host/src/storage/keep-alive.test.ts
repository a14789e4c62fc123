import { expect, test } from "vitest";
import { setUpSession } from "./postgres-sessions.ts";

/** A server that refuses what a pattern matches, and what it was sent. */
function serverRefusing(refused: RegExp) {
  const sent: string[] = [];
  const query = (text: string): Promise<void> => {
    sent.push(text);
    return refused.test(text) ? Promise.reject(new Error("unsupported")) : Promise.resolve();
  };
  return { sent, client: { query } as unknown as Parameters<typeof setUpSession>[0] };
}

test("a connection gets the host's isolation level and keepalives in one message", async () => {
  const { sent, client } = serverRefusing(/nothing is refused/);
  await setUpSession(client, "set lock_timeout = 0");
  expect(sent).toHaveLength(1);
  for (const setting of ["read committed", "lock_timeout = 0", "tcp_keepalives_idle = 5", "tcp_user_timeout = 10000"])
    expect(sent[0]).toContain(setting);
});

test("a server that refuses keepalives serves without them", async () => {
  const { sent, client } = serverRefusing(/tcp_/);
  await setUpSession(client, "set lock_timeout = 0");
  expect(sent.slice(1)).toEqual([
    "set default_transaction_isolation = 'read committed'; set statement_timeout = 15000; set lock_timeout = 0",
  ]);
});

test("a server that refuses the isolation level does not serve", async () => {
  const { client } = serverRefusing(/./);
  await expect(setUpSession(client)).rejects.toThrow("unsupported");
});
