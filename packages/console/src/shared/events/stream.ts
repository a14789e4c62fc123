import { AdminClientError, readServerSentEvents } from "turnpike-host/admin-contract/call";
import type { LiveEvent } from "turnpike-host/admin-contract";

/** How the stream of a tenant is opened, and how long things take. */
export interface StreamPorts {
  /** Opens the stream behind a cursor. Throws an `AdminClientError` when the host refuses. */
  open(tenant: string, cursor: string | undefined, signal: AbortSignal): Promise<ReadableStream<Uint8Array>>;
  /** A host that has said nothing for this long is not there. It says something every 15 seconds. */
  silenceMs: number;
  /** A stream that broke off is opened again after this long. */
  retryMs: number;
}

/** What a stream tells of itself. */
interface StreamListener {
  /** It is open, at first or again. */
  onOpen(): void;
  /** The host said something, if only that it is there. */
  onHeard(): void;
  onEvent(event: LiveEvent): void;
  /** It broke off, was refused, or nothing was heard for too long. It is opened again. */
  onClosed(): void;
  /** Called when the audit log has fewer rows than the cursor says. The stream cannot continue, and is not opened again. */
  onAhead(): void;
}

export interface Stream {
  /** Behind the last event. Undefined while nothing has come, and for those who are told of no rows. */
  readonly cursor: string | undefined;
  /** When something was last heard. Undefined while it is not open. */
  readonly heardAt: number | undefined;
  close(): void;
}

/** Holds the stream of a tenant open, each time behind the last event, until it is closed. */
export function holdStream(
  tenant: string,
  from: string | undefined,
  { open, silenceMs, retryMs }: StreamPorts,
  { onOpen, onHeard, onEvent, onClosed, onAhead }: StreamListener,
): Stream {
  let cursor = from;
  let heardAt: number | undefined;
  let isOver = false;
  let attempt = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;

  const hear = (): void => {
    clearTimeout(timer);
    const { signal } = attempt;
    timer = setTimeout(() => !signal.aborted && attempt.abort(), silenceMs);
  };
  const readOnce = async (): Promise<void> => {
    hear();
    const body = await open(tenant, cursor, attempt.signal);
    heardAt = Date.now();
    onOpen();
    const heard = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        hear();
        heardAt = Date.now();
        onHeard();
        controller.enqueue(chunk);
      },
    });
    for await (const { data, id } of readServerSentEvents(body.pipeThrough(heard))) {
      if (isOver) return;
      cursor = id ?? cursor;
      onEvent(JSON.parse(data) as LiveEvent);
    }
  };
  const run = async (): Promise<void> => {
    attempt = new AbortController();
    const isRefusedCursor = await readOnce().then(
      () => false,
      (error: unknown) => cursor !== undefined && error instanceof AdminClientError && error.status === 400,
    );
    // What is left of it is no longer read.
    attempt.abort();
    clearTimeout(timer);
    if (isOver) return;
    heardAt = undefined;
    onClosed();
    if (isRefusedCursor) return onAhead();
    timer = setTimeout(() => void run(), retryMs);
  };
  void run();

  return {
    get cursor() {
      return cursor;
    },
    get heardAt() {
      return heardAt;
    },
    close() {
      isOver = true;
      clearTimeout(timer);
      attempt.abort();
    },
  };
}
