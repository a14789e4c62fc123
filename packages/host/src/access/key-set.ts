import { readFileSync } from "node:fs";
import { createLocalJWKSet, createRemoteJWKSet, type JSONWebKeySet } from "jose";
import { ConfigError } from "../shared/index.ts";
import { isKeySetUrl } from "./jwt-config.ts";

/** The keys of one reading of a key set. */
export type Keys = ReturnType<typeof createLocalJWKSet>;

/** The key set of an identity provider, read again and again. */
export interface KeySet {
  /** The current keys, a new object after each reading; undefined when they could not be read for too long. */
  current(): Promise<Keys | undefined>;
  /** Like `current`, but waits for a running reading: for a token whose key is not known yet. */
  renewed(): Promise<Keys | undefined>;
}

/** The last reading of the key set is too old, so tokens cannot be checked right now. */
export class KeySetUnavailableError extends Error {
  override readonly name = "KeySetUnavailableError";
  constructor() {
    super("The identity provider's key set could not be read for five minutes.");
  }
}

/** A monotonic clock, in milliseconds. */
export type MonotonicClock = () => number;

/** How often a key set in use is read. Tokens with unknown keys do not make it more often. */
const refreshMs = 30_000;

/** INVARIANT: keys count for at most this long after the request for them began. */
const maxAgeMs = 300_000;

/** Opens a key set; a file is read at once. Throws `ConfigError` when it holds no key set. */
export function openKeySet(jwks: string, clock: MonotonicClock, onError: (error: unknown) => void): KeySet {
  if (isKeySetUrl(jwks)) return createKeySet(fetchedFrom(new URL(jwks)), clock, onError);
  readKeySet(jwks);
  return createKeySet(async () => createLocalJWKSet(readKeySet(jwks)), clock, onError);
}

/** Fetches within five seconds, and follows no redirect: it could lead to plain http. */
function fetchedFrom(url: URL): () => Promise<Keys> {
  const remote = createRemoteJWKSet(url);
  return async () => {
    await remote.reload();
    return createLocalJWKSet(remote.jwks() ?? { keys: [] });
  };
}

/** Throws `ConfigError` when the file is no key set. */
export function readKeySet(file: string): JSONWebKeySet {
  try {
    return createLocalJWKSet(JSON.parse(readFileSync(file, "utf8")) as JSONWebKeySet).jwks();
  } catch (cause) {
    throw new ConfigError(`jwt.jwks: ${file} cannot be read as a key set.`, { cause });
  }
}

/** Caches the keys of the last successful reading until they are too old. */
function createKeySet(read: () => Promise<Keys>, clock: MonotonicClock, onError: (error: unknown) => void): KeySet {
  let last: { keys: Keys; requestedAt: number } | undefined;
  let requestedAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;

  const start = async (): Promise<void> => {
    const began = (requestedAt = clock());
    try {
      last = { keys: await read(), requestedAt: began };
    } catch (error) {
      onError(error);
    } finally {
      reading = undefined;
    }
  };
  const young = (): Keys | undefined =>
    last !== undefined && clock() - last.requestedAt < maxAgeMs ? last.keys : undefined;
  const refresh = (): void => {
    if (reading === undefined && clock() - requestedAt >= refreshMs) reading = start();
  };
  const renewed = async (): Promise<Keys | undefined> => {
    refresh();
    await reading;
    return young();
  };
  return {
    renewed,
    async current() {
      refresh();
      return young() ?? renewed();
    },
  };
}
