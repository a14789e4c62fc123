import { describe, expect, test } from "vitest";
import { databaseKinds, migratedLocation, openHost } from "../../test/databases.ts";
import { recordingLog } from "../../test/recording-log.ts";
import { openWiredHost } from "../../test/wired-host.ts";

const runtime = {
  manifest: { id: "none", version: "1" },
  run: () => Promise.reject(new Error("No turn is run here.")),
};

describe.each(databaseKinds)("a host that starts on %s", (kind) => {
  test("logs how what it acknowledges could be lost there", async () => {
    const log = recordingLog();
    await openWiredHost(await openHost(await migratedLocation(kind)), { runtime, log });
    const warnings = log.said.filter(({ level }) => level === "warn").map(({ message }) => message);
    // The PostgreSQL of the tests does without syncs.
    const risks = [expect.stringMatching(/^fsync is off: .* Set fsync to on\.$/)];
    expect(warnings).toEqual(kind === "postgres" ? risks : []);
  });
});
