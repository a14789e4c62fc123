import { ask } from "../../packages/host/test/host-calls.ts";

interface Host {
  url: string;
  operatorToken(): string;
}

/** As many requests as are needed to fill whatever is between a host and the reader of its log. Returns how many lines it dropped. */
export async function fillLog(host: Host): Promise<number> {
  const before = await droppedLines(host);
  const headers = { "x-request-id": "i".repeat(120) };
  for (;;) {
    await Promise.all(Array.from({ length: 100 }, () => ask(host.url, "/health", { headers })));
    const dropped = await droppedLines(host);
    if (dropped > before) return dropped;
  }
}

export async function droppedLines({ url, operatorToken }: Host): Promise<number> {
  const { text } = await ask(url, "/metrics", { token: operatorToken() });
  return Number(/^turnpike_log_lines_dropped_total (\d+)$/m.exec(text)?.[1]);
}
