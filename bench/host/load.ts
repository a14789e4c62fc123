// Makes the load, in a process of its own: so many connections, each with one request after the other.
import { openConnection, type RawConnection } from "../support/raw-http.ts";
import { quantile } from "../support/statistics.ts";
import { idMaker, idMark, requestMaker, traceMark, type LoadCase } from "./cases.ts";

/** What to do. */
export interface LoadOrder {
  readonly load: LoadCase;
  readonly port: number;
  readonly token: string;
  readonly connections: number;
  /** When to stop: after so many milliseconds, or after so many requests. */
  readonly until: { readonly ms: number } | { readonly requests: number };
}

/** What came of it. */
export interface LoadReport {
  readonly requests: number;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** How much of a processor this process used meanwhile: near 1, it would have been what is measured. */
  readonly ownCpu: number;
}

/** The answer to an order. */
export type LoadAnswer = { readonly report: LoadReport } | { readonly failure: string };

const newId = idMaker(idMark.length);
const newTrace = idMaker(traceMark.length);

async function run({ load, port, token, connections: count, until }: LoadOrder): Promise<LoadReport> {
  let fail: (error: Error) => void = () => {};
  const failed = new Promise<never>((_, reject) => (fail = reject));
  const connections = await Promise.all(
    Array.from({ length: count }, () => openConnection(port, (error) => fail(error))),
  );
  const times: number[] = [];
  const cpu = process.cpuUsage();
  const start = performance.now();
  let sent = 0;
  const isOver = (): boolean => ("ms" in until ? performance.now() - start >= until.ms : sent >= until.requests);
  const drive = (connection: RawConnection): Promise<void> => {
    const trace = newTrace();
    const makeRequest = requestMaker(load, port, token, trace);
    const makeNext = load.next && requestMaker(load.next, port, token, trace);
    const send = (request: string, expected: string, then: () => void): void =>
      connection.send(request, ({ status, body }) => {
        if (status === 200 && body.includes(expected)) return then();
        fail(new Error(`${load.name} was answered with ${status}: ${body.slice(0, 500)}`));
      });
    return new Promise((resolve) => {
      const next = (): void => {
        if (isOver()) return resolve();
        sent += 1;
        const begun = performance.now();
        const id = newId();
        const answered = (): void => {
          times.push(performance.now() - begun);
          next();
        };
        send(makeRequest(id), load.expected, () =>
          makeNext === undefined ? answered() : send(makeNext(id), load.next?.expected ?? "", answered),
        );
      };
      next();
    });
  };
  try {
    await Promise.race([Promise.all(connections.map(drive)), failed]);
  } finally {
    for (const connection of connections) connection.close();
  }
  const seconds = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  return {
    requests: times.length,
    seconds,
    p50Ms: quantile(times, 0.5),
    p99Ms: quantile(times, 0.99),
    ownCpu: (user + system) / 1e6 / seconds,
  };
}

process.on("message", (order: LoadOrder) => {
  run(order).then(
    (report) => process.send?.({ report } satisfies LoadAnswer),
    (error: unknown) => process.send?.({ failure: String(error) } satisfies LoadAnswer),
  );
});
process.once("disconnect", () => process.exit(0));
