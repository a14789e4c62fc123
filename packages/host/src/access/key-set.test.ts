import { writeFileSync } from "node:fs";
import type { JSONWebKeySet } from "jose";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { transports, type Loopback } from "../../../turnpike/test/loopback.ts";
import { patience } from "../../test/host-calls.ts";
import { identityProvider, inAnHour, noon, trusting } from "../../test/identity-provider.ts";
import { createJwtVerifier } from "./jwt.ts";
import { KeySetUnavailableError } from "./key-set.ts";

const id = "jwt:https://id.example:human:alice";

/** A key set that a server has. */
async function servedKeys(answer: () => Response): Promise<Loopback> {
  const server = await transports.find(({ name }) => name === "over loopback")?.open(() => Promise.resolve(answer()));
  if (server === undefined) throw new Error("There is no transport over loopback.");
  return server;
}

test("a key set by URL is fetched, and a token of an unknown key is not valid", async () => {
  const [provider, stranger] = [await identityProvider("ES256", "key-1"), await identityProvider("ES256", "key-2")];
  let fetched = 0;
  const server = await servedKeys(() => {
    fetched += 1;
    return Response.json(provider.jwks);
  });
  const config = trusting(provider, { jwks: `${server.baseUrl}/jwks.json` });
  const jwt = createJwtVerifier(config);
  expect(await jwt.verify(await provider.sign(), noon)).toMatchObject({ id });
  expect(await jwt.verify(await provider.sign({ sub: "human:bob" }), noon)).toMatchObject({ namespaceId: "tenant-1" });
  expect(fetched).toBe(1);
  expect(await jwt.verify(await stranger.sign(), noon)).toBeUndefined();
  await server.close();
  await expect(createJwtVerifier(config).verify(await provider.sign(), noon)).rejects.toThrow(KeySetUnavailableError);
});

test("a token whose key is not in a newer key set either is not valid", async () => {
  const [provider, stranger] = [await identityProvider("ES256", "key-1"), await identityProvider("ES256", "key-2")];
  let ms = 0;
  const jwt = createJwtVerifier(trusting(provider), { clock: () => (ms += 30_000) });
  expect(await jwt.verify(await stranger.sign(), noon)).toBeUndefined();
});

describe("while a key set was never read", () => {
  async function unread() {
    const provider = await identityProvider();
    const server = await servedKeys(() => new Response("<html>"));
    onTestFinished(() => server.close());
    return { provider, jwt: createJwtVerifier(trusting(provider, { jwks: server.baseUrl })) };
  }

  test("it is not known whether a token is good", async () => {
    const { provider, jwt } = await unread();
    const token = await provider.sign();
    await expect(jwt.verify(token, noon)).rejects.toMatchObject({
      name: "KeySetUnavailableError",
      message: "The identity provider's key set could not be read for five minutes.",
    });
    await expect(jwt.verify(token, new Date(inAnHour * 1000 - 1))).rejects.toThrow(KeySetUnavailableError);
  });

  test("what no key could make good is not valid: an expired token, and what is no token", async () => {
    const { provider, jwt } = await unread();
    expect(await jwt.verify(await provider.sign(), new Date(inAnHour * 1000))).toBeUndefined();
    for (const nonsense of ["", "a.b.c", "opaque"]) expect(await jwt.verify(nonsense, noon)).toBeUndefined();
  });
});

test("a key set by URL is not fetched from where a redirect leads", async () => {
  const provider = await identityProvider();
  const target = await servedKeys(() => Response.json(provider.jwks));
  const server = await servedKeys(() => new Response(null, { status: 302, headers: { location: target.baseUrl } }));
  onTestFinished(() => server.close());
  onTestFinished(() => target.close());
  const jwt = createJwtVerifier(trusting(provider, { jwks: server.baseUrl }));
  await expect(jwt.verify(await provider.sign(), noon)).rejects.toThrow(KeySetUnavailableError);
});

const second = 1000;
const fiveMinutes = 300 * second;

/** A key set that can be changed while tokens are verified by it, and a clock that can be moved. */
async function changingKeys(kind: "file" | "URL") {
  const provider = await identityProvider("ES256", "key-1");
  const config = trusting(provider);
  const time = { ms: 0 };
  const errors: unknown[] = [];
  const readings = { count: 0 };
  let served: unknown = provider.jwks;
  const answer = (): Response => {
    readings.count += 1;
    return Response.json(served);
  };
  const server = await servedKeys(answer);
  onTestFinished(() => server.close());
  const jwks = kind === "URL" ? server.baseUrl : config.jwks;
  const options = { clock: () => time.ms, onKeySetError: (error: unknown) => void errors.push(error) };
  const jwt = createJwtVerifier({ ...config, jwks }, options);
  const token = await provider.sign({ exp: inAnHour + 1e9 });
  return {
    provider,
    time,
    errors,
    readings,
    change(to: JSONWebKeySet | "nonsense") {
      served = to;
      writeFileSync(config.jwks, JSON.stringify(to));
    },
    /** Who the token is at an instant of the clock that never goes back; the other clock is stopped. */
    async at(ms: number, shown = token) {
      time.ms = ms;
      return (await jwt.verify(shown, noon))?.id;
    },
  };
}

for (const kind of ["file", "URL"] as const) {
  describe(`a key set that is a ${kind}`, () => {
    test("lets no token count five minutes after its key left, however often it was seen", async () => {
      const { at, change, time } = await changingKeys(kind);
      expect(await at(0)).toBe(id);
      change({ keys: [] });
      for (let ms = second; ms < fiveMinutes; ms += 10 * second) await at(ms);
      expect(await at(fiveMinutes)).toBeUndefined();
      time.ms = 2 * fiveMinutes;
      expect(await at(time.ms)).toBeUndefined();
    });

    test("lets no token count that was not shown between its key's leaving and five minutes later", async () => {
      const { at, change } = await changingKeys(kind);
      expect(await at(0)).toBe(id);
      change({ keys: [] });
      expect(await at(fiveMinutes)).toBeUndefined();
    });

    test("in use is read again after thirty seconds, without delaying a token", async () => {
      const { at, change } = await changingKeys(kind);
      expect(await at(0)).toBe(id);
      change({ keys: [] });
      expect(await at(30 * second - 1)).toBe(id);
      expect(await at(30 * second)).toBe(id);
      await vi.waitFor(async () => expect(await at(30 * second + 1)).toBeUndefined(), patience);
    });

    test("that cannot be read counts five minutes more, and not an instant longer; then it counts again", async () => {
      const { at, change, errors, provider } = await changingKeys(kind);
      expect(await at(0)).toBe(id);
      change("nonsense");
      expect(await at(fiveMinutes - 1)).toBe(id);
      await expect(at(fiveMinutes)).rejects.toThrow(KeySetUnavailableError);
      expect(errors.length).toBeGreaterThan(0);
      change(provider.jwks);
      expect(await at(fiveMinutes + 60 * second)).toBe(id);
    });

    test("with a new key is read again for the first token of that key, at most every thirty seconds", async () => {
      const { at, change, provider } = await changingKeys(kind);
      const next = await identityProvider("ES256", "key-2");
      const token = await next.sign();
      expect(await at(0, token)).toBeUndefined();
      change({ keys: [...provider.jwks.keys, ...next.jwks.keys] });
      expect(await at(29 * second, token)).toBeUndefined();
      expect(await at(30 * second, token)).toBe(id);
    });
  });
}

test("a token whose verification outlasts its keys is not remembered beside those that replace them", async () => {
  const { at, change, provider } = await changingKeys("file");
  await at(0, await provider.sign({ sub: "human:bob" }));
  const begun = at(0);
  change({ keys: [] });
  // The first starts the reading, the second is verified by what was read.
  for (let round = 0; round < 2; round += 1) expect(await at(30 * second, "no.token.this")).toBeUndefined();
  expect(await begun).toBe(id);
  expect(await at(30 * second)).toBeUndefined();
});

test("a key set by URL is fetched at most every thirty seconds, whatever tokens name", async () => {
  const { at, readings, provider } = await changingKeys("URL");
  const stranger = await identityProvider("ES256", "key-9");
  for (let ms = 0; ms < 60 * second; ms += second) {
    await at(ms, await stranger.sign());
    await at(ms, await provider.sign());
  }
  expect(readings.count).toBe(2);
});

test("a key set that grows too old while a new key is fetched cannot say whether that token is good", async () => {
  const provider = await identityProvider("ES256", "key-1");
  const stranger = await identityProvider("ES256", "key-2");
  let ms = 0;
  let readings = 0;
  const server = await servedKeys(() => {
    readings += 1;
    if (readings === 1) return Response.json(provider.jwks);
    ms = fiveMinutes;
    return new Response("<html>");
  });
  onTestFinished(() => server.close());
  const jwt = createJwtVerifier(trusting(provider, { jwks: server.baseUrl }), { clock: () => ms });
  expect(await jwt.verify(await provider.sign(), noon)).toMatchObject({ id });
  ms = fiveMinutes - 1;
  await expect(jwt.verify(await stranger.sign(), noon)).rejects.toThrow(KeySetUnavailableError);
});

test("keys count from the instant at which they were asked for, not from the answer", async () => {
  const provider = await identityProvider();
  let ms = 0;
  const server = await servedKeys(() => {
    ms = fiveMinutes;
    return Response.json(provider.jwks);
  });
  onTestFinished(() => server.close());
  const jwt = createJwtVerifier(trusting(provider, { jwks: server.baseUrl }), { clock: () => ms });
  await expect(jwt.verify(await provider.sign(), noon)).rejects.toThrow(KeySetUnavailableError);
});

for (const content of ["nonsense", { keys: "none" }, {}, [], null]) {
  test(`a file that holds ${JSON.stringify(content)} is a mistake of the configuration`, async () => {
    const config = trusting(await identityProvider());
    writeFileSync(config.jwks, JSON.stringify(content));
    expect(() => createJwtVerifier(config)).toThrow(
      expect.objectContaining({
        message: expect.stringMatching(/^jwt\.jwks: .* cannot be read as a key set\.$/),
        cause: expect.any(Error),
      }),
    );
  });
}
