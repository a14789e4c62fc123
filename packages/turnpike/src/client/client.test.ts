import { afterEach, describe, expect, test } from "vitest";
import { exchanges, httpWorldOf, type HttpWorldOptions } from "../../test/http.ts";
import { transports, type Loopback, type Transport } from "../../test/loopback.ts";
import { contextOf, deferred, fails, rejection, untyped } from "../../test/deployment.ts";
import { aborted } from "../../test/turns.ts";
import { ServiceHttpError } from "../http/index.ts";
import { createServiceClient, type ServiceClient } from "./client.ts";
import type { ServiceClientOptions } from "./send.ts";
import { ServiceClientError } from "./service-client-error.ts";

const opened: Loopback[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((server) => server.close()));
});

const { authorize, invokeTool, invokeResource, sendMessage, executeTurn, updateToolNamespaces } = exchanges;
const methods: { name: keyof typeof exchanges; call(client: ServiceClient): Promise<unknown> }[] = [
  { name: "health", call: (client) => client.health() },
  { name: "authorize", call: (client) => client.authorize(untyped(authorize.body)) },
  { name: "reach", call: (client) => client.reach() },
  { name: "listTools", call: (client) => client.listTools() },
  { name: "listToolNamespaces", call: (client) => client.listToolNamespaces() },
  { name: "updateToolNamespaces", call: (client) => client.updateToolNamespaces(untyped(updateToolNamespaces.body)) },
  { name: "invokeTool", call: (client) => client.invokeTool(invokeTool.body) },
  { name: "invokeResource", call: (client) => client.invokeResource(untyped(invokeResource.body)) },
  { name: "sendMessage", call: (client) => client.sendMessage(sendMessage.body) },
  { name: "executeTurn", call: (client) => client.executeTurn(executeTurn.body) },
];

async function connectTo(
  transport: Transport,
  world: HttpWorldOptions,
  options: Partial<ServiceClientOptions>,
): Promise<ServiceClient> {
  const server = await transport.open(httpWorldOf(world).handler);
  opened.push(server);
  const { baseUrl, fetch } = server;
  return createServiceClient({ baseUrl, ...(fetch && { fetch }), ...options });
}

for (const transport of transports) {
  const connect = (world: HttpWorldOptions = {}, options: Partial<ServiceClientOptions> = {}): Promise<ServiceClient> =>
    connectTo(transport, world, options);

  describe(transport.name, () => {
    for (const { name, call } of methods) {
      test(`${name} resolves to the result`, async () => {
        expect(await call(await connect())).toStrictEqual(exchanges[name].answer);
      });
    }

    for (const { name, call } of methods.filter((method) => method.name !== "health")) {
      test(`${name} rejects with the error of a server that admits no caller`, async () => {
        const client = await connect({
          context: (request) =>
            Promise.reject(
              new ServiceHttpError(401, "never_heard_of", `Who is asking for ${new URL(request.url).pathname}?`, {
                headers: { "retry-after": "7" },
              }),
            ),
        });
        const error = await rejection(call(client));
        expect(error).toBeInstanceOf(ServiceClientError);
        expect(error).toMatchObject({
          name: "ServiceClientError",
          message: `Who is asking for ${exchanges[name].path}?`,
          status: 401,
          code: "never_heard_of",
          requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
          retryAfter: 7,
        });
      });
    }

    test("a refusal is an answer, not an error", async () => {
      const client = await connect({ kernel: { grants: [] } });
      expect(await client.invokeTool(invokeTool.body)).toMatchObject({
        status: "denied",
        error: { code: "tool_unavailable" },
      });
      expect(await client.executeTurn(executeTurn.body)).toMatchObject({ status: "denied" });
    });

    test("an accepted message is a result although its status is 202", async () => {
      const accepted = { status: "accepted", messageId: "message-1", timestamp: "2026-01-01T12:00:00Z" } as const;
      const client = await connect({ kernel: { messages: { deliver: () => Promise.resolve(accepted) } } });
      expect(await client.sendMessage(sendMessage.body)).toStrictEqual(accepted);
    });

    for (const row of [
      {
        name: "a body that does not fit",
        world: {},
        error: {
          status: 400,
          code: "invalid_request",
          message: "/action: expected string; /resource: expected object",
        },
        call: (client: ServiceClient) => client.authorize(untyped({})),
      },
      {
        name: "an outage",
        world: { kernel: { source: { load: fails } } },
        error: {
          status: 503,
          code: "authority_unavailable",
          message: "The grants could not be read or cannot be trusted.",
        },
        call: (client: ServiceClient) => client.listTools(),
      },
      {
        name: "a server that breaks",
        world: { context: fails },
        error: { status: 500, code: "internal_error", message: "Something failed inside; nothing more is said." },
        call: (client: ServiceClient) => client.reach(),
      },
    ]) {
      test(`${row.name} rejects with status, code and message of the answer`, async () => {
        const error = await rejection(row.call(await connect(row.world, { headers: { "x-request-id": "mine" } })));
        expect(error).toBeInstanceOf(ServiceClientError);
        expect(error).toMatchObject({ ...row.error, requestId: "mine", retryAfter: undefined });
      });
    }

    test("a signal that has fired rejects with its reason and nothing is asked", async () => {
      const asked: Request[] = [];
      const client = await connect({
        context(request) {
          asked.push(request);
          return Promise.resolve(contextOf());
        },
      });
      const reason = new Error("changed my mind");
      const signal = AbortSignal.abort(reason);
      expect(await rejection(client.authorize(untyped(authorize.body), { signal }))).toBe(reason);
      expect(await rejection(client.streamTurn(executeTurn.body, { signal }).result())).toBe(reason);
      expect(asked).toHaveLength(0);
    });

    test("a signal that fires on the way rejects with its reason, and the server's signal fires too", async () => {
      const started = deferred<AbortSignal>();
      const client = await connect({
        api: {
          async authorize(_context, _request, options) {
            const { signal } = options ?? {};
            if (signal === undefined) throw new Error("There is no signal.");
            started.resolve(signal);
            await aborted(signal);
            throw signal.reason;
          },
        },
      });
      const caller = new AbortController();
      const asking = rejection(client.authorize(untyped(authorize.body), { signal: caller.signal }));
      const signal = await started.promise;
      const reason = new Error("changed my mind");
      caller.abort(reason);
      expect(await asking).toBe(reason);
      await aborted(signal);
      expect(signal.aborted).toBe(true);
    });
  });
}
