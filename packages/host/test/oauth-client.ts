import { createHash, randomBytes } from "node:crypto";
import type { TestBrowser } from "./test-browser.ts";

/** As much of an OAuth client as a test needs, which can be made to do each step wrong. */
export interface TestClient {
  id: string;
  redirectUri: string;
  verifier: string;
  state: string;
  /** The address to which it sends a browser. */
  authorizeAddress(changes?: Record<string, string | undefined>): string;
  /** Exchanges a code. */
  exchange(code: string, changes?: Record<string, string | undefined>): Promise<TokenReply>;
  refresh(token: string, changes?: Record<string, string | undefined>): Promise<TokenReply>;
}

interface TokenReply {
  status: number;
  body: { access_token: string; refresh_token: string; error?: string; expires_in?: number };
}

type Send = (request: Request) => Promise<Response>;

/** Registers a client at a host. */
export async function registerClient(
  origin: string,
  send: Send,
  { name = "Editor", redirectUri = "http://127.0.0.1:7777/callback" } = {},
): Promise<TestClient> {
  const { host } = new URL(origin);
  const document = { client_name: name, redirect_uris: [redirectUri] };
  const headers = { host, "content-type": "application/json" };
  const answer = await send(
    new Request(`${origin}/register`, { method: "POST", headers, body: JSON.stringify(document) }),
  );
  const { client_id: id } = (await answer.json()) as { client_id: string };
  if (answer.status !== 201) throw new Error(`The client is not registered: ${answer.status}.`);
  const verifier = randomBytes(32).toString("base64url");
  const state = randomBytes(8).toString("hex");
  const challenge = createHash("sha256").update(verifier).digest("base64url");
  const post = async (fields: Record<string, string | undefined>): Promise<TokenReply> => {
    const form = { "content-type": "application/x-www-form-urlencoded", host };
    const body = parametersOf(fields).toString();
    const reply = await send(new Request(`${origin}/token`, { method: "POST", headers: form, body }));
    return { status: reply.status, body: (await reply.json()) as TokenReply["body"] };
  };
  const resource = `${origin}/mcp`;
  return {
    id,
    redirectUri,
    verifier,
    state,
    authorizeAddress: (changes) => {
      const asked = { client_id: id, redirect_uri: redirectUri, state, resource, scope: "offline_access" };
      const proof = { response_type: "code", code_challenge: challenge, code_challenge_method: "S256" };
      return `/authorize?${parametersOf({ ...asked, ...proof, ...changes }).toString()}`;
    },
    exchange: (code, changes) => {
      const proof = { code, code_verifier: verifier, redirect_uri: redirectUri };
      return post({ grant_type: "authorization_code", client_id: id, resource, ...proof, ...changes });
    },
    refresh: (token, changes) =>
      post({ grant_type: "refresh_token", client_id: id, refresh_token: token, resource, ...changes }),
  };
}

function parametersOf(fields: Record<string, string | undefined>): URLSearchParams {
  const given = Object.entries(fields).filter((field): field is [string, string] => field[1] !== undefined);
  return new URLSearchParams(given);
}

/** The page on which a person answers, as a browser shows it. */
export interface ShownConsent {
  /** Where it is. */
  path: string;
  text: string;
  headers: Headers;
  token: string;
  /** What can be ticked, by what is written beside it. */
  choices: { key: string; says: string; isTicked: boolean }[];
  /** Sends the form; returns the answer to it. */
  submit(fields: readonly (readonly [string, string])[], headers?: Record<string, string>): Promise<Response>;
  /** Ticks what is written like this, allows it, and returns where the browser is sent. */
  allow(...says: string[]): Promise<URL>;
}

/** Sends a browser to a host with what a client asks, and through the sign-in, up to the page of consent. */
export async function openConsent(origin: string, browser: TestBrowser, address: string): Promise<ShownConsent> {
  const { address: at, response } = await browser.follow(address);
  const text = await response.text();
  const path = new URL(at, origin).pathname;
  const token = /name="token" value="([0-9a-f]{64})"/.exec(text)?.[1] ?? "";
  const choices = [...text.matchAll(/name="allow" value="(\w+)"( checked)?> ([^<]*)</g)].map(
    ([, key = "", ticked, says = ""]) => ({ key, says, isTicked: ticked !== undefined }),
  );
  const submit: ShownConsent["submit"] = (fields, headers = {}) =>
    browser.post(path, new URLSearchParams(fields.map(([name, value]) => [name, value])).toString(), headers);
  return {
    path,
    text,
    headers: response.headers,
    token,
    choices,
    submit,
    async allow(...says) {
      const keys = says.map((one) => {
        const choice = choices.find((each) => each.says === one);
        if (choice === undefined)
          throw new Error(`Nothing says "${one}": ${choices.map((each) => each.says).join("; ")}`);
        return ["allow", choice.key] as const;
      });
      const answer = await submit([["token", token], ...keys, ["answer", "allow"]]);
      return new URL(answer.headers.get("location") ?? "none:");
    },
  };
}
