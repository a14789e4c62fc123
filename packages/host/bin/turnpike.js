#!/usr/bin/env node
import { version } from "../dist/version.js";

const args = process.argv.slice(2);

if (args.length === 1 && args[0] === "--version") {
  console.log(version);
} else {
  console.error("usage: turnpike --version");
  process.exitCode = 2;
}
