// The projects of the workspace, for the tests of this folder.
export { default } from "../../vitest.config.ts";
