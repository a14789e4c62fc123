import fc from "fast-check";

/** Where whatever tests draw at random begins: the same in every run, which can so be repeated. Others with TEST_SEED. */
export const seed = Number(process.env["TEST_SEED"] ?? 20260201);
if (!Number.isInteger(seed)) throw new Error("TEST_SEED takes a whole number.");

// Vitest runs this for each test file.
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed });
