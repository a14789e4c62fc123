import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { temporaryFolder } from "../../test/databases.ts";
import { changeContexts, type Context, contextFile, readContexts } from "./contexts.ts";

const gate: Context = {
  url: "https://gate.test",
  kind: "operator",
  actor: "human:carol",
  credentialId: "0123456789abcdef",
  token: "tp_hidden",
  tenant: "acme",
};

let file: string;
beforeEach(() => {
  file = contextFile({ XDG_CONFIG_HOME: temporaryFolder() });
});

function write(text: string, mode = 0o600): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(file, text);
  chmodSync(file, mode);
}

const whole = JSON.stringify({ format: "turnpike-contexts/1", current: "gate", contexts: { gate } });

function refusalOf(): string {
  try {
    return `took it: ${JSON.stringify(readContexts(file))}`;
  } catch (error) {
    return (error as Error).message;
  }
}

test("contexts are stored in the user's configuration folder", () => {
  expect(contextFile({ XDG_CONFIG_HOME: "/x", HOME: "/home/carol" })).toBe("/x/turnpike/contexts.json");
  expect(contextFile({ HOME: "/home/carol" })).toBe("/home/carol/.config/turnpike/contexts.json");
  // The specification has relative ones ignored.
  expect(contextFile({ XDG_CONFIG_HOME: "x", HOME: "/home/carol" })).toBe("/home/carol/.config/turnpike/contexts.json");
});

describe("a file of contexts", () => {
  test("is read when it is its owner's alone, and is empty when there is none", () => {
    expect(readContexts(file)).toEqual({ format: "turnpike-contexts/1", contexts: {} });
    write(whole);
    expect(readContexts(file)).toEqual(JSON.parse(whole));
  });

  for (const mode of [0o640, 0o604, 0o620, 0o602, 0o644]) {
    test(`is not used with the mode ${mode.toString(8)}, and what to do is said`, () => {
      write(whole, mode);
      expect(refusalOf()).toBe(
        `${file} is open to others (mode ${mode.toString(8)}), and there may be tokens in it. Make it yours alone: chmod 600 ${file}`,
      );
    });
  }

  test("is not used in a folder in which others may put another one there", () => {
    write(whole);
    chmodSync(dirname(file), 0o770);
    expect(refusalOf()).toMatch(/turnpike is open to others \(mode 770\).* chmod 700 /);
    chmodSync(dirname(file), 0o755);
    expect(readContexts(file)).toEqual(JSON.parse(whole));
  });

  test("is not used when another user owns it, whatever its mode", () => {
    write(whole);
    const { uid } = statSync(file);
    const mine = vi.spyOn(process, "getuid").mockReturnValue(uid + 1);
    onTestFinished(() => mine.mockRestore());
    expect(refusalOf()).toBe(`${file} belongs to another user, so it is not used.`);
    mine.mockReturnValue(uid);
    expect(readContexts(file)).toEqual(JSON.parse(whole));
  });

  for (const { name, text, says } of [
    { name: "is cut off", text: whole.slice(0, -9), says: "it is no JSON" },
    { name: "is empty", text: "", says: "it is no JSON" },
    { name: "is of another format", text: whole.replace("/1", "/2"), says: '/format: expected "turnpike-contexts/1"' },
    {
      name: "has a context that leads nowhere",
      text: whole.replace("https:", "ftp:"),
      says: "/contexts/gate/url: expected an http or https address",
    },
  ]) {
    test(`that ${name} is a clear error without a token, and stays as it is`, async () => {
      write(text);
      const message = `${file} is not understood: ${says}. Repair it, or move it away: mv ${file} ${file}.broken`;
      expect(refusalOf()).toBe(message);
      await expect(changeContexts(file, () => {})).rejects.toThrow(message);
      expect(readFileSync(file, "utf8")).toBe(text);
      expect(readdirSync(dirname(file))).toEqual(["contexts.json"]);
    });
  }

  test("never sends a token over a network in plain text", () => {
    write(whole.replace("https://gate.test", "http://gate.test"));
    expect(refusalOf()).toMatch(/: the context gate: http:\/\/gate\.test would show the token to the network\./);
    // One that is stored elsewhere is sent to the same place.
    for (const place of ['"database":"/srv/turnpike.db",', ""]) {
      write(whole.replace("https://gate.test", "http://gate.test").replace('"token":"tp_hidden",', place));
      expect(refusalOf()).toMatch(/ would show the token to the network\./);
    }
    for (const host of ["127.0.0.1:1", "localhost", "[::1]:8787"]) {
      write(whole.replace("https://gate.test", `http://${host}`));
      expect(readContexts(file).contexts["gate"]?.url).toBe(`http://${host}`);
    }
  });
});

describe("a change", () => {
  test("is written whole, for its owner alone", async () => {
    await changeContexts(file, ({ contexts }) => (contexts["gate"] = gate));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(file)).mode & 0o777).toBe(0o700);
    expect(readdirSync(dirname(file))).toEqual(["contexts.json"]);
  });

  test("waits for another one, so that none is lost", async () => {
    const names = Array.from({ length: 20 }, (_, place) => `gate-${place}`);
    await Promise.all(names.map((name) => changeContexts(file, ({ contexts }) => (contexts[name] = gate))));
    expect(Object.keys(readContexts(file).contexts).toSorted()).toEqual(names.toSorted());
  });

  test("waits while a command of another process has the lock, and preserves what that wrote", async () => {
    write(whole);
    writeFileSync(`${file}.lock`, "");
    let isMade = false;
    const adding = changeContexts(file, ({ contexts }) => {
      isMade = true;
      contexts["mine"] = gate;
    });
    // Time in which it would have been made without the lock.
    await delay(20);
    expect(isMade).toBe(false);
    write(whole.replaceAll('"gate"', '"theirs"'));
    rmSync(`${file}.lock`);
    await adding;
    expect(Object.keys(readContexts(file).contexts)).toEqual(["theirs", "mine"]);
    expect(readdirSync(dirname(file))).toEqual(["contexts.json"]);
  });

  test("ends with what to do when the lock was left behind, and leaves it there", async () => {
    write(whole);
    writeFileSync(`${file}.lock`, "");
    await expect(changeContexts(file, () => {})).rejects.toThrow(
      `Another command changes your contexts. If none runs: rm ${file}.lock`,
    );
    expect(readdirSync(dirname(file)).toSorted()).toEqual(["contexts.json", "contexts.json.lock"]);
    expect(readFileSync(file, "utf8")).toBe(whole);
  });

  test("that fails changes nothing", async () => {
    write(whole);
    const failing = changeContexts(file, ({ contexts }) => {
      delete contexts["gate"];
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    expect(readFileSync(file, "utf8")).toBe(whole);
    expect(readdirSync(dirname(file))).toEqual(["contexts.json"]);
  });

  test("preserves a link to where the file really is", async () => {
    const elsewhere = join(temporaryFolder(), "linked.json");
    write(whole);
    writeFileSync(elsewhere, whole, { mode: 0o600 });
    const linked = contextFile({ XDG_CONFIG_HOME: temporaryFolder() });
    mkdirSync(dirname(linked), { mode: 0o700 });
    symlinkSync(elsewhere, linked);
    await changeContexts(linked, (contexts) => (contexts.current = "other"));
    expect(readContexts(elsewhere).current).toBe("other");
    expect(readContexts(linked).current).toBe("other");
  });
});
