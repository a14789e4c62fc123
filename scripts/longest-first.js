import { BaseSequencer } from "vitest/node";

/** The files of processes that take longest, most of them small. */
const longest = [
  "docs/docs.e2e",
  "host/outage",
  "host/restore",
  "host/operate",
  "host/demo",
  "trust/attacks.e2e",
  "host/kill",
].map((name) => `/tests/${name}.test.ts`);

/** Starts these first, so that none of them runs alone at the end; vitest itself goes by size. */
export class LongestFirst extends BaseSequencer {
  async sort(files) {
    // oxlint-disable-next-line unicorn/no-array-sort -- no array: the sequencer that this one extends
    const bySize = await super.sort(files);
    const isLong = ({ moduleId }) => longest.some((name) => moduleId.endsWith(name));
    return [...bySize.filter(isLong), ...bySize.filter((file) => !isLong(file))];
  }
}
