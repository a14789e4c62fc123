/** Room for a busy machine, in every test run: no test measures time, so a test that takes this long hangs. */
export const patience = {
  testTimeout: 180_000,
  hookTimeout: 180_000,
  // What a test waits for may take as long; vitest gives up after a second.
  expect: { poll: { timeout: 60_000 } },
};
