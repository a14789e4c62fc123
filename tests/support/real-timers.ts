// Vitest runs this for each test file. Files share a process: with timers that an earlier one has faked and left behind, a
// test that waits would hang, and the cause would not be known.
if ("clock" in setTimeout) throw new Error("An earlier test file of this process left faked timers behind.");
