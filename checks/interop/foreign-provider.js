import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { Provider } from "oidc-provider";
import { onTestFinished } from "vitest";

/** Makes the keys of a provider, under an id. */
export function makeKeys(kid) {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return { keys: [{ ...privateKey.export({ format: "jwk" }), kid, alg: "RS256", use: "sig" }] };
}

/**
 * An identity provider that is not ours, on loopback, for the time of a test: `oidc-provider`, which is certified. Each of its users
 * signs in without a password. `answers` may answer a path in its place.
 */
export async function openForeignProvider({ clients, users, jwks, fetch, ...more }) {
  const answers = new Map();
  let answer;
  const server = createServer((request, response) => {
    const own = answers.get(new URL(request.url, "http://localhost").pathname);
    return own === undefined ? answer(request, response) : own(request, response, answer);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const issuer = `http://127.0.0.1:${server.address().port}`;
  /** Begins anew with these keys, as after a rotation. */
  const useKeys = (keys) => {
    const provider = new Provider(issuer, {
      clients,
      jwks: keys,
      findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ sub, ...users[sub] }) }),
      claims: { openid: ["sub"], profile: ["name"], groups: ["groups", "org"] },
      // Claims are in the ID token, as with the providers of most organizations.
      conformIdTokenClaims: false,
      features: { backchannelLogout: { enabled: true }, devInteractions: { enabled: true } },
      cookies: { keys: ["of a test"] },
      ...(fetch && { fetch }),
      ...more,
    });
    answer = provider.callback();
  };
  useKeys(jwks);
  return { issuer, answers, useKeys };
}

/** A user's browser at foreign providers: it stores their cookies, and fills in their pages. */
export function foreignBrowser() {
  const cookies = new Map();
  const ask = async (address, form) => {
    const { host } = new URL(address);
    const own = [...(cookies.get(host) ?? [])].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await globalThis.fetch(address, {
      redirect: "manual",
      headers: { cookie: own },
      ...(form && { method: "POST", body: new URLSearchParams(form) }),
    });
    const stored = cookies.get(host) ?? new Map();
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line);
      if (value === "") stored.delete(name);
      else stored.set(name, value);
    }
    cookies.set(host, stored);
    return response;
  };
  return {
    ask,
    /** Signs a user in where a host sent the browser, and returns the address that it is sent back to. */
    async signIn(address, sub) {
      const { origin } = new URL(address);
      let at = address;
      for (let steps = 0; steps < 12; steps += 1) {
        if (new URL(at).origin !== origin) return at;
        const response = await ask(at);
        const next = response.headers.get("location");
        if (next !== null) {
          at = new URL(next, at).href;
          continue;
        }
        const page = await response.text();
        const [, prompt] = /name="prompt" value="(\w+)"/.exec(page) ?? [];
        if (prompt === undefined) throw new Error(`${at} answers ${response.status}: ${page}`);
        const done = await ask(at, { prompt, login: sub, password: "any" });
        at = new URL(done.headers.get("location"), at).href;
      }
      throw new Error(`The provider sends a browser in circles at ${at}.`);
    },
    /** Signs the user out at a provider, which tells its clients. */
    async signOut(issuer) {
      const page = await (await ask(`${issuer}/session/end`)).text();
      const [, xsrf] = /name="xsrf" value="(\w+)"/.exec(page) ?? [];
      const done = await ask(`${issuer}/session/end/confirm`, { xsrf, logout: "yes" });
      if (done.status >= 400) throw new Error(`Signing out answers ${done.status}: ${await done.text()}`);
    },
  };
}
