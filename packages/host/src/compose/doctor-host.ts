import { get, type IncomingMessage } from "node:http";
import { get as getSecurely } from "node:https";
import { createServer } from "node:net";
import { json } from "node:stream/consumers";
import { visibleText } from "../display/index.ts";
import type { Config } from "./config.ts";
import { bad, good, type Finding } from "./finding.ts";

/** How long to wait for a running host to answer. */
const answerMs = 2_000;
/** A `date` header tells whole seconds, and is some milliseconds old. */
const clockToleranceMs = 3_000;
/** How much of a reason is shown. */
const mostReason = 200;

/** Whether the port is free or a host has it; and if one has it, whether that host is ready and has the right time. */
export async function checkPort(config: Config): Promise<Finding[]> {
  const { host, port } = config.listen;
  const probe = createServer();
  try {
    await new Promise<void>((resolve, reject) => probe.once("error", reject).listen(port, host, resolve));
    return [good("port", `${host}:${port} is free`)];
  } catch (error) {
    const health = await ask(config, "/health");
    if (isHealth(health?.body))
      return [good("port", `${host}:${port} is taken: a host answers there`), ...(await inspectHost(config, health))];
    const says = `${host}:${port} cannot be used (${error instanceof Error ? error.message : String(error)}). `;
    return [bad("port", `${says}Stop what listens there, or set listen.port.`)];
  } finally {
    probe.close();
  }
}

interface Answer {
  status: number;
  /** When it was sent, by the clock of the sender. */
  sentAt: number;
  body: unknown;
}

async function inspectHost(config: Config, health: Answer | undefined): Promise<Finding[]> {
  const ready = await ask(config, "/ready");
  const { host, port } = config.listen;
  const readiness =
    ready?.status === 200
      ? good("host", `the host at ${host}:${port} is ready`)
      : bad(
          "host",
          `the host at ${host}:${port} is not ready. ${reasonIn(ready?.body) ?? "It does not say why."} Its log says more.`,
        );
  const apart = Math.abs(Date.now() - (health?.sentAt ?? Number.NaN));
  if (Number.isNaN(apart)) return [readiness];
  const clock =
    apart <= clockToleranceMs
      ? good("clock", "agrees with that of the host that runs")
      : bad("clock", `is ${Math.round(apart / 1000)} s away from that of the host that runs. Synchronize both.`);
  return [readiness, clock];
}

/** The sentence of an answer. It is shown on a terminal, and what listens there may be anything. */
function reasonIn(body: unknown): string | undefined {
  const { reason } = (body ?? {}) as { reason?: unknown };
  return typeof reason === "string" ? visibleText(reason.slice(0, mostReason)) : undefined;
}

function isHealth(body: unknown): boolean {
  return typeof body === "object" && body !== null && "status" in body && "protocolVersion" in body;
}

/** What listens on the port answers; undefined when it does not answer as a host does. Its certificate is not checked. */
async function ask({ listen: { host, port }, tls }: Config, path: string): Promise<Answer | undefined> {
  const where = { host, port, path, signal: AbortSignal.timeout(answerMs), agent: false };
  try {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const request =
        tls === undefined ? get(where, resolve) : getSecurely({ ...where, rejectUnauthorized: false }, resolve);
      request.once("error", reject);
    });
    const sentAt = Date.parse(answer.headers.date ?? "");
    return { status: answer.statusCode ?? 0, sentAt, body: await json(answer) };
  } catch {
    return undefined;
  }
}
