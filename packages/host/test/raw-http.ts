import { connect, type Socket } from "node:net";

/** What came back over a socket. */
export interface RawAnswer {
  /** Everything, as it was written. */
  text: string;
  /** The status of each answer, in order. */
  statuses: number[];
  isClosed: boolean;
}

/** How long to listen, and what to send. */
export interface RawExchange {
  /** Sent at once, as Latin-1. */
  send: string;
  /** So many answers are enough; else until the host closes. */
  answers?: number;
  deadlineMs?: number;
}

/** Sends bytes to a host and reads until it has answered or closed; throws with what came so far when it does neither. */
export function exchange(
  url: string,
  { send, answers = Infinity, deadlineMs = 30_000 }: RawExchange,
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    let text = "";
    const socket = open(url);
    const finish = (isClosed: boolean): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ text, statuses: statusesIn(text), isClosed });
    };
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`The host neither answered nor closed; it said ${JSON.stringify(text)}.`));
    }, deadlineMs);
    socket.setEncoding("latin1").on("data", (part: string) => {
      text += part;
      if (statusesIn(text).length >= answers && isComplete(text)) finish(false);
    });
    socket.on("close", () => finish(true));
    // A reset is a close with less manners; bytes that came before it count.
    socket.on("error", () => {});
    socket.write(send, "latin1");
  });
}

/** A socket to a host. */
export function open(url: string): Socket {
  const { hostname, port } = new URL(url);
  return connect({ host: hostname, port: Number(port) });
}

function statusesIn(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}

/** True when the last answer has its whole body, or has none. */
function isComplete(text: string): boolean {
  const last = text.slice(text.lastIndexOf("HTTP/1.1 "));
  const [head = "", body] = last.split(/\r\n\r\n(.*)/s);
  if (body === undefined) return false;
  if (/^HTTP\/1\.1 (1\d\d|204|304)/.test(head)) return true;
  const [, length] = /^content-length: (\d+)/im.exec(head) ?? [];
  return length === undefined ? body.endsWith("0\r\n\r\n") : body.length >= Number(length);
}
