import { NodeRequest } from "srvx/node";
import type { ClientCertificate, RequestHeaders } from "../access/index.ts";
import { readLimited } from "./read-limited.ts";
import type { Exchange } from "./refuse.ts";

/** A request as it came from a socket. */
export interface WireRequest {
  readonly method: string;
  /** The path, and the query behind it, as they were sent. */
  readonly target: string;
  readonly headers: RequestHeaders;
  /** Aborted when the caller has gone. */
  readonly signal: AbortSignal;
  /** The body, up to the limit of the host, whatever length it declares. */
  readonly body: { bytes(): Promise<Uint8Array> };
  /** The same as Fetch has it, for a protocol whose library expects that. It costs more than a whole decision. */
  toFetch(): Request;
}

/** The request of an exchange: its own headers and body, because every request makes one. */
export class ExchangeRequest implements WireRequest {
  readonly #exchange: Exchange;
  readonly #bodyBytes: number;

  constructor(exchange: Exchange, bodyBytes: number) {
    this.#exchange = exchange;
    this.#bodyBytes = bodyBytes;
  }

  get method(): string {
    return this.#exchange.incoming.method ?? "";
  }

  get target(): string {
    return this.#exchange.incoming.url ?? "";
  }

  get signal(): AbortSignal {
    return this.#exchange.connection.closed;
  }

  get headers(): RequestHeaders {
    return this;
  }

  get body(): this {
    return this;
  }

  get(name: string): string | null {
    const value = this.#exchange.incoming.headers[name];
    return typeof value === "string" ? value : null;
  }

  get certificate(): ClientCertificate | undefined {
    return this.#exchange.connection.certificate;
  }

  bytes(): Promise<Uint8Array> {
    return readLimited(this.#exchange.incoming, this.#bodyBytes, this.#exchange.body);
  }

  toFetch(): Request {
    return new NodeRequest({ req: this.#exchange.incoming, res: this.#exchange.outgoing });
  }
}
