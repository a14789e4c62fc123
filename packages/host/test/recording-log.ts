import type { Log } from "../src/telemetry/log.ts";

/** A log that records what it was told. */
export interface RecordingLog extends Log {
  said: { level: string; facts: Record<string, unknown>; message: string }[];
}

export function recordingLog(): RecordingLog {
  const said: RecordingLog["said"] = [];
  const at = (level: string) => (facts: object, message: string) =>
    void said.push({ level, facts: facts as Record<string, unknown>, message });
  return { said, info: at("info"), warn: at("warn"), error: at("error") };
}
