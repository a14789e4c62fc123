import { expect, test } from "vitest";
import { isDead, type HostSigns, type JudgeSigns } from "./judge-host.ts";

const living: HostSigns = { silentFor: 1, isLocked: true, hasEnded: false };
const settled: JudgeSigns = { silentFor: 1, beatsFor: 60 };

interface Row {
  name: string;
  host?: Partial<HostSigns>;
  judge?: Partial<JudgeSigns>;
  unlockedFor?: number;
  dead: boolean;
}

const rows: Row[] = [
  { name: "that beats and has its lock is alive", dead: false },
  { name: "is alive just before seven seconds without a beat", host: { silentFor: 6.99 }, dead: false },
  { name: "is dead at seven seconds without a beat, although its lock is held", host: { silentFor: 7 }, dead: true },
  { name: "is alive when the clock was set back a little since it beat", host: { silentFor: -6.99 }, dead: false },
  { name: "whose beat is from a time that is still to come is dead", host: { silentFor: -7 }, dead: true },
  { name: "that beats has three seconds without its lock", host: { isLocked: false }, unlockedFor: 3, dead: false },
  {
    name: "that beats is dead when its lock is free for longer",
    host: { isLocked: false },
    unlockedFor: 3.01,
    dead: true,
  },
  { name: "that has its lock again is alive, however long it had none", unlockedFor: 60, dead: false },
  { name: "of a version that does not beat lives by its lock", host: { silentFor: null }, dead: false },
  {
    name: "of a version that does not beat is dead without its lock",
    host: { silentFor: null, isLocked: false },
    unlockedFor: 4,
    dead: true,
  },
  { name: "that said that it ended is dead at once", host: { hasEnded: true }, dead: true },
  {
    name: "that ended is dead for a host that just started, too",
    host: { hasEnded: true },
    judge: { beatsFor: 0 },
    dead: true,
  },
  {
    name: "without a beat is not dead for a host that was away itself, until that has beaten for five seconds",
    host: { silentFor: 60, isLocked: false },
    judge: { beatsFor: 4.99 },
    unlockedFor: 60,
    dead: false,
  },
  {
    name: "without a beat is dead for a host that beats for five seconds",
    host: { silentFor: 60 },
    judge: { beatsFor: 5 },
    dead: true,
  },
  {
    name: "is not dead for a host whose own beat is late",
    host: { silentFor: 60 },
    judge: { silentFor: 3 },
    dead: false,
  },
  {
    name: "is not dead for a host whose own beat is from a time that is still to come",
    host: { silentFor: -60 },
    judge: { silentFor: -3 },
    dead: false,
  },
  {
    name: "is not dead for a host that has not beaten yet",
    host: { silentFor: 60 },
    judge: { silentFor: null, beatsFor: null },
    dead: false,
  },
];

for (const { name, host, judge, unlockedFor = 0, dead } of rows)
  test(`a host ${name}`, () => {
    expect(isDead({ ...living, ...host }, { ...settled, ...judge }, unlockedFor)).toBe(dead);
  });

test("a host that the database does not know is dead", () => {
  expect(isDead(undefined, settled, 0)).toBe(true);
});
