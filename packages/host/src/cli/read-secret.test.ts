import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { readSecret, type SecretInput } from "./read-secret.ts";

function open(isTTY: boolean) {
  const modes: boolean[] = [];
  const input = Object.assign(new PassThrough(), { isTTY, setRawMode: (isRaw: boolean) => modes.push(isRaw) });
  let said = "";
  const reading = readSecret(input as unknown as SecretInput, "Token: ", (text) => (said += text));
  return { input, reading, modes, said: () => said };
}

describe("a secret", () => {
  test("is read from a pipe up to its end, without the white space around it and without a word", async () => {
    const { input, reading, modes, said } = open(false);
    input.write("tp_a");
    input.end("bc\n");
    expect(await reading).toBe("tp_abc");
    expect([said(), modes]).toEqual(["", []]);
  });

  for (const { name, typed, secret } of [
    { name: "ends with Enter", typed: "tp_abc\r", secret: "tp_abc" },
    { name: "can be corrected", typed: "tp_ax\u007Fbc\r", secret: "tp_abc" },
    { name: "may be none", typed: "\r", secret: "" },
    { name: "ends with Ctrl-D", typed: "tp_abc\u0004", secret: "tp_abc" },
  ]) {
    test(`that is typed ${name}, and is not shown`, async () => {
      const { input, reading, modes, said } = open(true);
      input.write(typed);
      expect(await reading).toBe(secret);
      expect([said(), modes]).toEqual(["Token: \n", [true, false]]);
    });
  }

  test("that is given up is none, and the terminal is as before", async () => {
    const { input, reading, modes } = open(true);
    input.write("tp_abc\u0003");
    await expect(reading).rejects.toThrow("Interrupted: nothing was changed.");
    expect(modes).toEqual([true, false]);
  });

  test("of an input that has ended is none", async () => {
    const { input, reading } = open(false);
    input.end("tp_abc");
    await reading;
    expect(await readSecret(input as unknown as SecretInput, "Token: ", () => {})).toBe("");
  });

  test("that does not end is refused", async () => {
    const { input, reading } = open(false);
    input.write("x".repeat(20_000));
    await expect(reading).rejects.toThrow("Standard input: this is too long for a token.");
  });
});
