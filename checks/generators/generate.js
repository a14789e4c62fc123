// Starts a demo, and has each generator make a client of the description that the demo serves.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "@hey-api/openapi-ts";
import openapiTypeScript, { astToString } from "openapi-typescript";
import { generate } from "orval";
import { startDemo } from "../../scripts/start-host.js";

const folder = join(import.meta.dirname, "generated");

export async function setup({ provide }) {
  const demo = await startDemo();
  try {
    await makeClients(demo.url);
  } catch (error) {
    await demo.stop();
    throw error;
  }
  provide("url", demo.url);
  provide("token", demo.tokens.assistant);
  return () => demo.stop();
}

async function makeClients(url) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  const input = join(folder, "openapi.json");
  const document = await (await fetch(`${url}/openapi.json`)).json();
  writeFileSync(input, JSON.stringify(document));
  writeFileSync(join(folder, "schema.ts"), astToString(await openapiTypeScript(document)));
  await createClient({ input, output: join(folder, "hey-api"), logs: { level: "silent" } });
  const orval = { target: join(folder, "orval/client.ts"), schemas: join(folder, "orval/model"), client: "fetch" };
  await generate(
    { input, output: { ...orval, override: { mutator: { path: "./orval-fetch.ts", name: "send" } } } },
    import.meta.dirname,
  );
  // What a reader gets who sets nothing.
  await generate({ input, output: join(folder, "orval-default/client.ts") }, import.meta.dirname);
}
