// When a test hangs. No test measures time: what each project allows is many times what its slowest test takes on an idle machine,
// so that a busy one fails nothing.

/** Tests that start processes or browsers; those that take longer by intent say so themselves. */
export const patience = {
  testTimeout: 180_000,
  hookTimeout: 180_000,
  // What a test waits for may take as long; vitest gives up after a second.
  expect: { poll: { timeout: 60_000 } },
};

/** Tests that do the same again and again, such as with another statement that fails. */
export const longPatience = { ...patience, testTimeout: 600_000 };

/** Tests with a database, and nothing else outside of their process. */
export const databasePatience = {
  testTimeout: 90_000,
  hookTimeout: 90_000,
  expect: { poll: { timeout: 30_000 } },
};

/** Tests that need nothing. */
export const unitPatience = {
  testTimeout: 20_000,
  hookTimeout: 20_000,
  expect: { poll: { timeout: 15_000 } },
};
