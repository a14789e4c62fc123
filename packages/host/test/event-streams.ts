/** Reading streams of server-sent events in tests. */
import { readServerSentEvents } from "../../turnpike/src/client/server-sent-events.ts";
import type { LiveEvent } from "../src/admin-contract/routes/event-routes.ts";

/** An event of a stream, and the cursor that came with it. */
interface Followed {
  id: string | undefined;
  event: LiveEvent;
}

/** A stream that is read event by event. */
export interface EventReader {
  status: number;
  /** The next event; undefined when the stream has ended. */
  next(): Promise<Followed | undefined>;
  /** The next events of a kind, so many of them. */
  take<Kind extends LiveEvent["kind"]>(kind: Kind, count: number): Promise<Extract<LiveEvent, { kind: Kind }>[]>;
  /** The id of the last event that was read. */
  lastId(): string | undefined;
  leave(): Promise<void>;
}

export function readEvents({ status, body }: Response): EventReader {
  if (body === null) throw new Error("The answer has no body.");
  const events = readServerSentEvents(body);
  let lastId: string | undefined;
  const next = async (): Promise<Followed | undefined> => {
    const { done, value } = await events.next();
    if (done === true) return undefined;
    lastId = value.id ?? lastId;
    return { id: value.id, event: JSON.parse(value.data) as LiveEvent };
  };
  return {
    status,
    next,
    async take<Kind extends LiveEvent["kind"]>(kind: Kind, count: number) {
      const found: Extract<LiveEvent, { kind: Kind }>[] = [];
      while (found.length < count) {
        const told = await next();
        if (told === undefined) throw new Error(`The stream ended after ${found.length} of ${count}.`);
        if (told.event.kind === kind) found.push(told.event as Extract<LiveEvent, { kind: Kind }>);
      }
      return found;
    },
    lastId: () => lastId,
    async leave() {
      await events.return();
      // One of which nothing was read yet is left all the same.
      if (!body.locked) await body.cancel();
    },
  };
}

/** The first event of a stream that has no end, as if it were the answer; of a file its size; any other answer as it is. */
export async function textOf(response: Response): Promise<string> {
  const type = response.headers.get("content-type");
  if (type === "application/vnd.sqlite3") return JSON.stringify(`${(await response.arrayBuffer()).byteLength} bytes`);
  if (type !== "text/event-stream") return response.text();
  const reader = readEvents(response);
  const first = await reader.next();
  await reader.leave();
  return JSON.stringify(first?.event);
}
