import { afterEach, describe, expect, test } from "vitest";
import { rejection, untyped } from "../../test/deployment.ts";
import { exchanges, httpWorldOf } from "../../test/http.ts";
import { eventsOf, journaledWorldOf, resultOf, turnRequest, type JournaledWorld } from "../../test/journaled-turns.ts";
import { transports, type Loopback, type Transport } from "../../test/loopback.ts";
import { createServiceClient, type ServiceClient } from "./client.ts";

const opened: Loopback[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((server) => server.close()));
});

/** A client whose base URL has this path. */
async function connectTo(
  transport: Transport,
  { handler }: Pick<JournaledWorld, "handler">,
  path: string,
): Promise<ServiceClient> {
  const server = await transport.open(handler);
  opened.push(server);
  const { baseUrl, fetch } = server;
  return createServiceClient({ baseUrl: `${baseUrl}${path}`, ...(fetch && { fetch }) });
}

const basePath = "/api/turnpike";
const { authorize, invokeTool, invokeResource, sendMessage, executeTurn, updateToolNamespaces } = exchanges;

for (const transport of transports) {
  describe(transport.name, () => {
    for (const path of ["/api/turnpike", "/api/turnpike/"]) {
      test(`every call of a client whose base URL ends in ${path} reaches the handler there`, async () => {
        const client = await connectTo(transport, httpWorldOf({ basePath }), path);
        expect(await client.health()).toStrictEqual(exchanges.health.answer);
        expect(await client.authorize(untyped(authorize.body))).toStrictEqual(authorize.answer);
        expect(await client.reach()).toStrictEqual(exchanges.reach.answer);
        expect(await client.listTools()).toStrictEqual(exchanges.listTools.answer);
        expect(await client.listToolNamespaces()).toStrictEqual(exchanges.listToolNamespaces.answer);
        expect(await client.invokeTool(invokeTool.body)).toStrictEqual(invokeTool.answer);
        expect(await client.invokeResource(untyped(invokeResource.body))).toStrictEqual(invokeResource.answer);
        expect(await client.sendMessage(sendMessage.body)).toStrictEqual(sendMessage.answer);
        expect(await client.executeTurn(executeTurn.body)).toStrictEqual(executeTurn.answer);
        const update = untyped<Parameters<ServiceClient["updateToolNamespaces"]>[0]>(updateToolNamespaces.body);
        expect(await client.updateToolNamespaces(update)).toStrictEqual(updateToolNamespaces.answer);
      });
    }

    test("a turn is streamed from a base URL with a path", async () => {
      const client = await connectTo(transport, httpWorldOf({ basePath }), basePath);
      const stream = client.streamTurn(executeTurn.body);
      const events = [];
      for await (const event of stream) events.push(event);
      expect(events).toStrictEqual(executeTurn.answer.events);
      expect(await stream.result()).toStrictEqual(executeTurn.answer);
    });

    test("a turn is started, listed, followed and cancelled at a base URL with a path", async () => {
      const world = journaledWorldOf({ basePath });
      const client = await connectTo(transport, world, basePath);
      const id = "a/b?c%2F ä";
      expect(await client.startTurn(turnRequest(id))).toMatchObject({ executionId: id, status: "running" });
      expect((await client.turns({ statuses: ["running"], limit: 1 })).turns).toMatchObject([{ executionId: id }]);
      const following = (async () => {
        const events = [];
        for await (const event of client.turnEvents(id)) events.push(event);
        return events;
      })();
      await world.played(id).emit(2);
      expect(await client.cancelTurn(id)).toMatchObject({ executionId: id });
      await world.played(id).end();
      expect(await following).toEqual(eventsOf(id, 0, 2));
      expect(await client.turn(id)).toMatchObject({ status: "succeeded", result: resultOf(id, 2) });
    });

    test("a base URL without the path of the service rejects with not_found", async () => {
      const client = await connectTo(transport, httpWorldOf({ basePath }), "");
      expect(await rejection(client.listTools())).toMatchObject({ status: 404, code: "not_found" });
    });
  });
}
