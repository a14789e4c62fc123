import { expect, test } from "vitest";
import type { PrincipalRef } from "turnpike/contracts";
import { countingApi, turn } from "../../test/counting-api.ts";
import { access, alice, assistant, context } from "../../test/records.ts";
import type { Caller } from "./authenticate.ts";
import { limitSenders } from "./limit-senders.ts";

function callerWith(senders?: PrincipalRef[]): Caller {
  const credential = { id: "c", namespaceId: "tenant-1", access: { ...access, ...(senders && { senders }) } };
  const isValidAt = () => Promise.resolve(true);
  return { credential, isValidAt, isStillAdmitted: isValidAt };
}

const rows: { name: string; caller: Caller | undefined; sender: PrincipalRef; isAllowed: boolean }[] = [
  { name: "one without a limit names any sender", caller: callerWith(), sender: alice, isAllowed: true },
  { name: "one names a sender of its list", caller: callerWith([assistant, alice]), sender: alice, isAllowed: true },
  { name: "one does not name another", caller: callerWith([assistant]), sender: alice, isAllowed: false },
  {
    name: "one does not name a sender of another kind with the same id",
    caller: callerWith([{ kind: "service", serviceId: "alice" }]),
    sender: alice,
    isAllowed: false,
  },
  {
    name: "one does not even name its actor unless it is listed",
    caller: callerWith([alice]),
    sender: assistant,
    isAllowed: false,
  },
  { name: "one with an empty list names no sender", caller: callerWith([]), sender: assistant, isAllowed: false },
  { name: "a caller who is not known names no sender", caller: undefined, sender: assistant, isAllowed: false },
];
for (const { name, caller, sender, isAllowed } of rows) {
  test(`in turns, ${name}`, async () => {
    const { api, effects } = countingApi();
    const request = { ...turn, message: { ...turn.message, sender } };
    const answer = await limitSenders(api, () => caller)
      .executeTurn(context(), request)
      .catch((error: unknown) => error);
    expect(answer).toMatchObject(isAllowed ? { status: "succeeded" } : { status: 403, code: "sender_not_allowed" });
    expect(effects).toEqual(isAllowed ? ["turn id-1"] : []);
  });
}
