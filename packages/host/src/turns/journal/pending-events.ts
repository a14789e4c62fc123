import type { AuditEvent } from "turnpike/contracts";
import type { ServiceApi } from "turnpike/http";
import type { WriteScope } from "turnpike/kernel";

/** The events of a turn that has not begun: that its tools were listed. The journal writes them with its beginning. */
class EventsBeforeTurn implements WriteScope {
  readonly pendingEvents: AuditEvent[] = [];

  decide(): Promise<never> {
    return Promise.reject(new Error("Nothing is decided for a turn that has not begun."));
  }

  record(event: AuditEvent): Promise<void> {
    this.pendingEvents.push(event);
    return Promise.resolve();
  }
}

/** The same api, whose new turns wait for no commit before they begin. A turn that does not begin was shown no tools. */
export function writeEventsWithTurns(api: ServiceApi): ServiceApi {
  return {
    ...api,
    executeTurn: (context, request, call) =>
      api.executeTurn(
        context,
        request,
        call?.writer === undefined ? { ...call, writes: new EventsBeforeTurn() } : call,
      ),
  };
}
