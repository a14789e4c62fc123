import { createServer } from "node:http";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { auth, UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startDemo } from "../../scripts/start-host.js";

let demo;
beforeAll(async () => {
  demo = await startDemo();
});
afterAll(() => demo?.stop());

/** What the official client needs of the program around it: where it is answered, and a place for what it learns. */
function programOf({ redirectUrl, show }) {
  const stored = {};
  return {
    stored,
    redirectUrl,
    clientMetadata: { client_name: "Stock client", redirect_uris: [redirectUrl] },
    clientInformation: () => stored.client,
    saveClientInformation: (client) => void (stored.client = client),
    tokens: () => stored.tokens,
    saveTokens: (tokens) => void (stored.tokens = tokens),
    codeVerifier: () => stored.verifier,
    saveCodeVerifier: (verifier) => void (stored.verifier = verifier),
    invalidateCredentials: () => void delete stored.tokens,
    redirectToAuthorization: (address) => show(address),
  };
}

/** A browser in which Alice signs in, ticks some of what she is asked, and allows it; no script runs in it. */
function aliceAt(url, ...ticked) {
  const cookies = new Map();
  const ask = async (address, init = {}) => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const answer = await fetch(address, { redirect: "manual", ...init, headers: { ...init.headers, cookie } });
    for (const line of answer.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line);
      cookies.set(name, value);
    }
    return answer;
  };
  return async (address) => {
    let at = new URL(address);
    for (;;) {
      const answer = await ask(at);
      const text = await answer.text();
      const next = answer.headers.get("location");
      if (next !== null) at = new URL(next, at);
      else if (at.pathname === "/demo/sign-in") at = new URL(`/demo/sign-in/alice${at.search}`, at);
      else {
        if (!text.includes("Stock client wants to act for you")) throw new Error(`This is no page of consent: ${text}`);
        const fields = new URLSearchParams({ token: /name="token" value="(\w+)"/.exec(text)[1], answer: "allow" });
        for (const [, key, says] of text.matchAll(/name="allow" value="(\w+)"(?: checked)?> ([^<]*)</g))
          if (ticked.some((one) => says.startsWith(one))) fields.append("allow", key);
        const headers = { origin: url, "content-type": "application/x-www-form-urlencoded" };
        const answered = await ask(at, { method: "POST", headers, body: fields });
        await fetch(answered.headers.get("location"));
        return;
      }
    }
  };
}

/** Where the client waits for its browser. */
async function listenForCode() {
  let taken;
  const code = new Promise((resolve) => (taken = resolve));
  const server = createServer((request, response) => {
    taken(new URL(request.url, "http://localhost").searchParams.get("code"));
    response.end("You can close this window.");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { code, redirectUrl: `http://127.0.0.1:${server.address().port}/callback`, close: () => server.close() };
}

test("the official client connects from the address alone, does what Alice ticked, and nothing once it is disconnected", async () => {
  const { url } = demo;
  const answer = await listenForCode();
  const program = programOf({
    redirectUrl: answer.redirectUrl,
    show: aliceAt(url, "read in files/notes", "list in files/notes"),
  });
  const connect = async () => {
    const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { authProvider: program });
    const client = new Client({ name: "stock", version: "1" });
    await client.connect(transport).catch(async (error) => {
      if (!(error instanceof UnauthorizedError)) throw error;
      await transport.finishAuth(await answer.code);
    });
    return client;
  };
  await (await connect()).close();
  const client = await connect();
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toContain("files_read");
  const read = (path) => client.callTool({ name: "files_read", arguments: { path } });
  expect(await read("notes/todo.md")).toMatchObject({
    content: [{ text: expect.stringContaining("water the plants") }],
  });
  expect(await read("private/diary.md")).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining("no_matching_grant") }],
  });
  const write = await client
    .callTool({ name: "files_write", arguments: { path: "notes/new.md", content: "x" } })
    .catch(String);
  expect(JSON.stringify(write)).toMatch(/no_matching_grant|tool_unavailable|Unknown tool|not found/);
  // The token is replaced by the next one, as it is when it is over.
  const before = program.stored.tokens;
  expect(await auth(program, { serverUrl: `${url}/mcp` })).toBe("AUTHORIZED");
  expect(program.stored.tokens.access_token).not.toBe(before.access_token);
  expect(await read("notes/todo.md")).toMatchObject({ content: [{ text: expect.any(String) }] });
  const form = { token: program.stored.tokens.refresh_token, client_id: program.stored.client.client_id };
  await fetch(`${url}/revoke`, { method: "POST", body: new URLSearchParams(form) });
  const asked = [];
  program.redirectToAuthorization = (address) => void asked.push(address.pathname);
  await expect(read("notes/todo.md")).rejects.toBeInstanceOf(UnauthorizedError);
  expect(asked).toEqual(["/authorize"]);
  await client.close();
  answer.close();
});
