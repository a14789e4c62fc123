import { createServer, type IncomingHttpHeaders } from "node:http";
import { createServer as createSocketServer, type AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import type { ModelConfig } from "../turns/index.ts";
import { checkModels } from "./doctor-models.ts";

/** A model's endpoint that answers with a status; what it was sent is recorded. */
async function endpoint(status: number): Promise<{ url: string; sent: IncomingHttpHeaders[] }> {
  const sent: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    sent.push(request.headers);
    response.writeHead(status).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, sent };
}

function modelAt(baseUrl: string): ModelConfig {
  const model = { provider: "openai-compatible", model: "model-1", retries: 0, baseUrl, apiKeyEnv: "MODEL_KEY" };
  return { kind: "model", ...model } as unknown as ModelConfig;
}

const inspect = async (config: ModelConfig) =>
  (await checkModels(config, { MODEL_KEY: "sk-hidden" })).filter(({ check }) => check === "model endpoint");

for (const status of [200, 401, 404]) {
  test(`a model's endpoint that answers with ${status} is there, and is sent no key`, async () => {
    const { url, sent } = await endpoint(status);
    expect(await inspect(modelAt(url))).toEqual([{ check: "model endpoint", isOk: true, says: `${url} answers` }]);
    expect(JSON.stringify(sent)).not.toContain("hidden");
  });
}

test("a model's endpoint that fails is found", async () => {
  const { url } = await endpoint(502);
  expect(await inspect(modelAt(url))).toEqual([
    {
      check: "model endpoint",
      isOk: false,
      says: `${url} answers with 502. Look at its own log, or set another runtime.baseUrl.`,
    },
  ]);
});

test("a model's endpoint that does not answer is found, with the setting that names it", async () => {
  const server = createSocketServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const [found] = await inspect(modelAt(url));
  expect(found?.isOk).toBe(false);
  expect(found?.says).toMatch(
    /^http:\S+ does not answer \(\w+\)\. Check runtime\.baseUrl, the network, and whether the model runs\.$/,
  );
});

test("an endpoint that several models share is asked once", async () => {
  const { url, sent } = await endpoint(200);
  const first = modelAt(url);
  const fallbacks = [{ ...first, model: "model-2" }];
  expect(await inspect({ ...first, fallbacks } as unknown as ModelConfig)).toHaveLength(1);
  expect(sent).toHaveLength(1);
});
