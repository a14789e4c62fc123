import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";

const built = new URL("../dist/", import.meta.url);

/** The address of a built file of the host, for a script to import. */
export function builtFile(path: string): string {
  return JSON.stringify(new URL(path, built).href);
}

/** A process of its own that runs a script on the built host. */
export interface OtherProcess {
  /** The first line it printed. */
  said: string;
  /** The next line it prints; "(nothing)" when it ends first. */
  next(): Promise<string>;
  /** kill -9, and wait until it is gone. */
  kill(): Promise<void>;
}

/** Runs a script in which `openDatabase` is there; what it prints first is what it said. It is killed with the test. */
export async function otherProcess(script: string): Promise<OtherProcess> {
  const imported = `import { openDatabase } from ${builtFile("storage/open-database.js")};`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", `${imported}\n${script}`], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  const exited = once(child, "exit");
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await exited;
  };
  onTestFinished(kill);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<string> => {
    const { value } = (await lines.next()) as { value?: string };
    return value ?? "(nothing)";
  };
  return { said: await next(), next, kill };
}

/** A script that opens a database, says how that went, and stays. */
export function opening(location: string): string {
  return `
    try {
      globalThis.database = await openDatabase(${JSON.stringify(location)});
      console.log("opened as " + database.hostId);
    } catch (error) {
      console.log("refused: " + error.message);
    }
    setInterval(() => {}, 1000);`;
}
