import { afterAll } from "vitest";
import { endProcesses } from "./host-process.ts";

// Vitest runs this for each test file. Whatever the file started and made goes with it, however its tests ended.
afterAll(endProcesses);
