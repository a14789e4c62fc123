import type { JsonValue, TurnEvent, TurnEventType, TurnRequest } from "../contracts/index.ts";

/** Where a turn writes down what happens. */
export interface TurnEvents {
  readonly all: readonly TurnEvent[];
  /** Adds an event and shows it to the observer. After the terminal event nothing is added. */
  append(type: TurnEventType, data: JsonValue): void;
  /** Adds the terminal event and closes the book. */
  close(type: TurnEventType, data: JsonValue): void;
}

/** How the runtime tells time and makes ids. */
export interface TurnTools {
  clock: () => string;
  createId: () => string;
}

/** Ordered events without gaps behind those that happened before, one writer. The observer must not throw. */
export function openTurnEvents(
  { version, executionId }: TurnRequest,
  traceId: string,
  { clock, createId }: TurnTools,
  onEvent: (event: TurnEvent) => unknown,
  before: readonly TurnEvent[] = [],
): TurnEvents {
  const all: TurnEvent[] = [...before];
  let isOpen = true;
  const append = (type: TurnEventType, data: JsonValue): void => {
    if (!isOpen) return;
    const event: TurnEvent = {
      version,
      eventId: createId(),
      executionId,
      traceId,
      sequence: all.length,
      type,
      data,
      occurredAt: clock(),
    };
    // What is said of an event has no parts that are not frozen already.
    Object.freeze(data);
    all.push(Object.freeze(event));
    onEvent(event);
  };
  return {
    all,
    append,
    close(type, data) {
      append(type, data);
      isOpen = false;
    },
  };
}
