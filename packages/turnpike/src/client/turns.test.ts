import { afterEach, describe, expect, test } from "vitest";
import { rejection, untyped } from "../../test/deployment.ts";
import { eventsOf, journaledWorldOf, resultOf, turnRequest, type JournaledWorld } from "../../test/journaled-turns.ts";
import { httpWorldOf } from "../../test/http.ts";
import { transports, type Loopback, type Transport } from "../../test/loopback.ts";
import { createServiceClient, type ServiceClient } from "./client.ts";

const opened: Loopback[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((server) => server.close()));
});

async function connectTo(transport: Transport, { handler }: Pick<JournaledWorld, "handler">): Promise<ServiceClient> {
  const server = await transport.open(handler);
  opened.push(server);
  const { baseUrl, fetch } = server;
  return createServiceClient({ baseUrl, ...(fetch && { fetch }) });
}

for (const transport of transports) {
  describe(transport.name, () => {
    test("a turn is started, read, followed to its end and listed", async () => {
      const world = journaledWorldOf();
      const client = await connectTo(transport, world);
      const id = "a/b?c ä";
      expect(await client.startTurn(turnRequest(id))).toMatchObject({ executionId: id, status: "running" });
      expect(await client.turn(id)).toMatchObject({ executionId: id, status: "running" });
      const following = (async () => {
        const events = [];
        for await (const event of client.turnEvents(id)) events.push(event);
        return events;
      })();
      await world.played(id).emit(2);
      await world.played(id).wait();
      expect(await client.turn(id)).toMatchObject({ status: "waiting", escalation: { reason: "May I?" } });
      await world.played(id).emit(3);
      await world.played(id).end();
      expect(await following).toEqual(eventsOf(id, 0, 3));
      expect(await client.turn(id)).toMatchObject({ status: "succeeded", result: resultOf(id, 3) });
      expect(await client.startTurn(turnRequest(id))).toMatchObject({ status: "succeeded", result: resultOf(id, 3) });
      expect(await client.executeTurn(turnRequest(id))).toEqual(resultOf(id, 3));
    });

    test("turns are listed by status and page", async () => {
      const world = journaledWorldOf();
      const client = await connectTo(transport, world);
      for (const id of ["turn-1", "turn-2", "turn-3"]) await client.startTurn(turnRequest(id));
      await world.played("turn-2").end();
      const idsOf = ({ turns }: { turns: { executionId: string }[] }) => turns.map(({ executionId }) => executionId);
      expect(idsOf(await client.turns())).toEqual(["turn-3", "turn-2", "turn-1"]);
      const first = await client.turns({ statuses: ["running", "waiting"], limit: 1 });
      expect(idsOf(first)).toEqual(["turn-3"]);
      const second = await client.turns({ statuses: ["running", "waiting"], limit: 1, before: first.next });
      expect([idsOf(second), second.next]).toEqual([["turn-1"], undefined]);
    });

    test("a turn is cancelled, and one that has ended stays as it is", async () => {
      const world = journaledWorldOf();
      const client = await connectTo(transport, world);
      await client.startTurn(turnRequest("turn-1"));
      expect(await client.cancelTurn("turn-1")).toMatchObject({ status: "running" });
      expect(world.played("turn-1").writer.stop.aborted).toBe(true);
      await world.played("turn-1").end();
      expect(await client.cancelTurn("turn-1")).toMatchObject({ status: "succeeded" });
    });

    for (const { name, call } of [
      { name: "turn", call: (client: ServiceClient) => client.turn("turn-9") },
      { name: "cancelTurn", call: (client: ServiceClient) => client.cancelTurn("turn-9") },
      {
        name: "turnEvents",
        call: (client: ServiceClient) => client.turnEvents("turn-9")[Symbol.asyncIterator]().next(),
      },
    ]) {
      test(`${name} rejects for a turn that is not there`, async () => {
        const client = await connectTo(transport, journaledWorldOf());
        expect(await rejection(call(client))).toMatchObject({ status: 404, code: "not_found" });
      });
    }
  });
}

const [inProcess] = transports as [Transport, ...Transport[]];

test("a filter that does not fit is refused by the service", async () => {
  const client = await connectTo(inProcess, journaledWorldOf());
  expect(await rejection(client.turns({ limit: 0 }))).toMatchObject({ status: 400, code: "invalid_request" });
  expect(await rejection(client.turns({ statuses: [untyped("done")] }))).toMatchObject({ status: 400 });
});

test("a service without a journal starts no turn that runs without its caller: its answer is no state", async () => {
  const client = await connectTo(inProcess, httpWorldOf());
  expect(await rejection(client.startTurn(turnRequest("turn-1")))).toMatchObject({ code: "invalid_response" });
  expect(await rejection(client.turns())).toMatchObject({ status: 405 });
});
