/** JSON that is within the size of a body and would like to cost much more. */

/** What a host takes as a body, less the room for what surrounds the hostile part. */
const room = 2 ** 20 - 2048;

/** So much JSON of one kind as fits, or `count` parts of it. */
function many(part: (index: number) => string, count = Infinity, size = room): string {
  const parts: string[] = [];
  let length = 0;
  for (let index = 0; index < count; index += 1) {
    const next = part(index);
    length += next.length + 1;
    if (length > size) break;
    parts.push(next);
  }
  return parts.join();
}

/** Short keys, each once; not like numbers, which engines store apart. */
function key(index: number): string {
  return `"k${index.toString(36)}":0`;
}

const nested = room / 2;

/** `fits` means that it is JSON within every limit: a place that takes any JSON takes it. */
export const hostileParts: readonly { name: string; text: string; fits?: true }[] = [
  { name: "half a million numbers", text: `[${many(() => "0")}]` },
  { name: "99,000 numbers", text: `[${many(() => "0", 99_000)}]`, fits: true },
  { name: "99,000 strings", text: `[${many((index) => `"${index.toString(36)}"`, 99_000)}]`, fits: true },
  { name: "100,000 keys", text: `{${many(key, 100_000)}}` },
  { name: "9,000 keys", text: `{${many(key, 9000)}}`, fits: true },
  { name: "one key of a megabyte", text: `{"${"/~".repeat(room / 4)}":0}`, fits: true },
  { name: "a third of a million empty objects", text: `[${many(() => "{}")}]` },
  { name: "33,000 pairs", text: `[${many(() => "[1,2]", 33_000)}]`, fits: true },
  { name: "40,000 objects that are all different", text: `[${many((index) => `{${key(index)}}`, 40_000)}]` },
  { name: "twenty objects of thousands of keys", text: `[${many(() => `{${many(key, Infinity, 50_000)}}`, 20)}]` },
  { name: "12,000 rows", text: `[${many((id) => `{"id":${id},"name":"n","ok":true}`, 12_000)}]`, fits: true },
  { name: "half a million levels of lists", text: "[".repeat(nested) + "]".repeat(nested) },
  { name: "many levels of objects", text: `${'{"":'.repeat(nested / 4)}0${"}".repeat(nested / 4)}` },
  { name: "a megabyte of letters", text: `"${"a".repeat(room)}"`, fits: true },
  { name: "a megabyte of blanks", text: `"${" ".repeat(room)}"`, fits: true },
  { name: "a megabyte of dots", text: `"${".".repeat(room - 1)}/"`, fits: true },
  { name: "a megabyte of escapes", text: `"${'\\"'.repeat(room / 2)}"`, fits: true },
  { name: "a megabyte of pairs of surrogates", text: `"${"\u{1f511}".repeat(room / 4)}"`, fits: true },
  { name: "a time with a megabyte of digits", text: `"2026-02-01T09:00:00.${"1".repeat(room - 40)}Z"`, fits: true },
  { name: "a number of a megabyte", text: `0.${"9".repeat(room)}`, fits: true },
];

/** Whole bodies around a part: `hole` marks where it goes. */
export const hole = "\u0000hole";

export function around(body: unknown, part: string): string {
  return JSON.stringify(body).replace(JSON.stringify(hole), () => part);
}

/** The promise is 20 ms on a machine of its own; what this guards against took half a second to four. */
export const maxCpuMs = 150;

/** The processor time of the cheapest of several runs: other work on the machine only ever adds. */
export async function leastCpuMs(run: () => unknown): Promise<number> {
  let least = Infinity;
  for (let attempt = 0; attempt < 5 && least >= maxCpuMs; attempt += 1) {
    const before = process.cpuUsage();
    await run();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1000);
  }
  return least;
}
