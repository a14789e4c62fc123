import { execFileSync } from "node:child_process";
import { closeSync, constants, openSync, readSync, writeSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { temporaryFolder } from "../../test/databases.ts";
import { patience } from "../../test/host-calls.ts";
import { createLineWriter } from "./line-writer.ts";

const line = `${"x".repeat(999)}\n`;
/** More than a pipe holds and a writer lets wait. */
const many = 600;

/** A pipe with a reader that reads when it is told to. */
function pipe() {
  const path = join(temporaryFolder(), "log");
  execFileSync("mkfifo", [path]);
  const openReader = (): number => openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  let reader = openReader();
  const descriptor = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  onTestFinished(() => closeSync(descriptor));
  const leave = (): void => closeSync(reader);
  const come = (): void => void (reader = openReader());
  let text = "";
  const read = (): string => {
    const buffer = Buffer.alloc(65_536);
    try {
      for (let bytes = readSync(reader, buffer); bytes > 0; bytes = readSync(reader, buffer))
        text += buffer.toString("latin1", 0, bytes);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
    }
    return text;
  };
  return { descriptor, read, leave, come };
}

test("lines of one tick are written in order when it is over", async () => {
  const { descriptor, read } = pipe();
  const writer = createLineWriter(() => descriptor);
  for (const text of ["one\n", "two\n", "three\n"]) writer.write(text);
  expect(read()).toBe("");
  await vi.waitFor(() => expect(read()).toBe("one\ntwo\nthree\n"), patience);
  expect(writer.dropped).toBe(0);
});

test("a reader that does not read makes no caller wait: lines wait for it, and those that are too many are dropped", async () => {
  const { descriptor, read } = pipe();
  const recovered: number[] = [];
  const writer = createLineWriter(
    () => descriptor,
    (lines) => void recovered.push(lines),
  );
  for (let count = 0; count < many; count += 1) writer.write(line);
  writer.flush();
  for (let count = 0; count < many; count += 1) writer.write(line);
  const { dropped } = writer;
  expect(dropped).toBeGreaterThan(0);
  expect(recovered).toEqual([]);
  // What was not dropped arrives whole and in order, and then it is said how many are missing.
  await vi.waitFor(() => {
    expect(read()).toBe(line.repeat(many * 2 - dropped));
    expect(recovered).toEqual([dropped]);
  }, patience);
  writer.write("next\n");
  await vi.waitFor(() => expect(read().endsWith("next\n")).toBe(true), patience);
  expect(writer.dropped).toBe(dropped);
});

test("a reader that has gone makes no caller fail: every line is dropped and counted", () => {
  const { descriptor, leave } = pipe();
  const writer = createLineWriter(() => descriptor);
  leave();
  for (const text of ["one\n", "two\n"]) writer.write(text);
  writer.flush();
  writer.write("three\n");
  writer.flush();
  expect(writer.dropped).toBe(3);
});

test("a disk that is full makes no caller fail, and neither does a descriptor that cannot be opened", () => {
  const full = openSync("/dev/full", "w");
  onTestFinished(() => closeSync(full));
  expect(() => writeSync(full, "x")).toThrow("ENOSPC");
  const failing = (): number => {
    throw new Error("no descriptor");
  };
  for (const open of [() => full, failing]) {
    const writer = createLineWriter(open);
    writer.write("one\n");
    writer.flush();
    writer.write("two\n");
    writer.flush();
    expect(writer.dropped).toBe(2);
  }
});

test("a line after one that was cut begins on a line of its own", async () => {
  const { descriptor, read, leave, come } = pipe();
  const writer = createLineWriter(() => descriptor);
  writer.write(`${"y".repeat(100_000)}\n`);
  writer.flush();
  leave();
  writer.flush();
  expect(writer.dropped).toBe(1);
  come();
  writer.write("next\n");
  await vi.waitFor(() => expect(read()).toMatch(/^y+\nnext\n$/), patience);
});
