import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync } from "node:fs";
import type { Image } from "./image.ts";
import { onTestFinished } from "vitest";
import { makeFolder } from "./host-process.ts";
import type { Printed } from "./terminal.ts";

/** Whether this machine lets a test make a file system of its own: on Linux, for root. */
export const canIsolate = process.platform === "linux" && process.getuid?.() === 0;

/** A process whose root is the image's: everything read-only but its volume, a user without privileges. */
export interface Container {
  /** What it has written so far, on both streams. */
  output(): string;
  /** Resolves with the URL on its screen; rejects with what it wrote when it ends before. */
  readonly started: Promise<string>;
  readonly ended: Promise<number | null>;
  stop(): Promise<number | null>;
  /** Runs a command beside it, in its file system and network, as its user. */
  exec(command: readonly string[]): Promise<Printed>;
}

export interface ContainerOptions {
  command?: readonly string[];
  env?: Readonly<Record<string, string>>;
  /** A folder on the volume; a new one unless given. */
  volume?: string;
  /** Files below /run/secrets. */
  secrets?: string;
  /** Whether it has a network of its own, where every port is free. */
  isAlone?: boolean;
}

/**
 * Makes the image's places above those of this machine, in a mount namespace that ends with the process: the image's files,
 * the command's folder with this Node in it, the volume, secrets. Then nothing but the volume can be written.
 */
const enter = `
set -eu
mkdir -p "$SCRATCH/bin" && touch "$SCRATCH/bin/node" && mount --bind "$NODE" "$SCRATCH/bin/node"
mount --make-rprivate /
mount -t tmpfs tmpfs /opt && mkdir /opt/turnpike && mount --bind "$IMAGE/opt/turnpike" /opt/turnpike
mount --rbind "$SCRATCH/bin" /usr/local/bin
[ -z "$SECRETS" ] || { mount -t tmpfs tmpfs /run && mkdir /run/secrets && mount --bind "$SECRETS" /run/secrets; }
mount -t tmpfs tmpfs /var/lib
eval "$SET_UP"
mount --bind "$VOLUME" /var/lib/turnpike
for place in / /opt /opt/turnpike /usr/local/bin; do mount -o remount,bind,ro "$place"; done
[ -z "$ALONE" ] || ip link set lo up
cd "$WORKDIR"
exec setpriv --reuid "\${RUN_AS%:*}" --regid "\${RUN_AS#*:}" --clear-groups --no-new-privs --bounding-set=-all \\
  env -i PATH=/usr/local/bin:/usr/bin:/bin "$@"
`;

/** Starts what an image starts, or another command in it. It ends with the test at the latest. */
export function runImage(image: Image, options: ContainerOptions = {}): Container {
  const scratch = makeFolder();
  const volume = options.volume ?? newVolume(image);
  const env = { ...image.env, ...options.env };
  const words = [
    ...Object.entries(env).map(([name, value]) => `${name}=${value}`),
    ...(options.command ?? image.command),
  ];
  const places = {
    PATH: process.env["PATH"],
    NODE: process.execPath,
    SCRATCH: scratch,
    IMAGE: image.folder,
    VOLUME: volume,
    SECRETS: options.secrets ?? "",
    SET_UP: image.setUp,
    ALONE: options.isAlone === true ? "yes" : "",
    WORKDIR: image.workingFolder,
    RUN_AS: image.user,
  };
  const isolation = ["--mount", ...(options.isAlone === true ? ["--net"] : [])];
  const child = spawn("unshare", [...isolation, "sh", "-c", enter, "sh", ...words], {
    env: places,
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  const ended = once(child, "close").then(([code]) => code as number | null);
  const screen = new Promise<string>((resolve) => {
    child.stdout.on("data", () => {
      const [, url] = /^Turnpike runs at (\S+)\n/m.exec(output) ?? [];
      if (url !== undefined) resolve(url);
    });
  });
  const started = Promise.race([
    screen,
    ended.then(() => Promise.reject(new Error(`It ended before it ran: ${output}`))),
  ]);
  started.catch(() => {});
  const stop = (): Promise<number | null> => {
    child.kill("SIGTERM");
    return ended;
  };
  onTestFinished(async () => void (await stop()));
  return {
    output: () => output,
    started,
    ended,
    stop,
    exec: (command) =>
      new Promise((resolve) => {
        const [uid = "", gid = ""] = image.user.split(":");
        const as = ["setpriv", "--reuid", uid, "--regid", gid, "--clear-groups"];
        const path = "PATH=/usr/local/bin:/usr/bin:/bin";
        const given = Object.entries(env).map(([name, value]) => `${name}=${value}`);
        const args = ["--target", String(child.pid), "--mount", "--net"];
        execFile(
          "nsenter",
          [...args, ...as, "env", "-i", "-C", image.workingFolder, path, ...given, ...command],
          (error, stdout, stderr) => {
            const code = error === null ? 0 : typeof error.code === "number" ? error.code : null;
            resolve({ code, stdout, stderr });
          },
        );
      }),
  };
}

/** An empty volume, which belongs to the image's user as the folder does that it replaces. */
export function newVolume({ user }: Image): string {
  const volume = makeFolder();
  const [uid, gid] = user.split(":").map(Number);
  chownSync(volume, uid ?? 0, gid ?? 0);
  chmodSync(volume, 0o700);
  return volume;
}
