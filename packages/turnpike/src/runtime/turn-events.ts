import type { JsonValue, TurnEvent, TurnEventType, TurnRequest } from "../contracts/index.ts";

/** The events of a turn. */
export interface TurnEvents {
  readonly all: readonly TurnEvent[];
  /** Adds an event and shows it to the observer. After the terminal event nothing is added. */
  append(type: TurnEventType, data: JsonValue): void;
  /** Adds the terminal event, after which nothing is added. */
  close(type: TurnEventType, data: JsonValue): void;
}

/** The runtime's clock and its source of ids. */
export interface TurnTools {
  clock: () => string;
  createId: () => string;
}

/** Opens the events of a turn after those of earlier runs. They are numbered without gaps. The observer must not throw. */
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
    // The parts of `data` are frozen already.
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
