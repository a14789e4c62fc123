import { NodeRequest } from "srvx/node";
import type { ClientCertificate, RequestHeaders } from "../access/index.ts";
import { readLimited, tooLarge } from "./read-limited.ts";
import type { Exchange } from "./refuse.ts";
import type { UnadmittedBodies } from "./unadmitted-bodies.ts";

/** A request as it came from a socket. */
export interface WireRequest {
  readonly method: string;
  /** The path, and the query behind it, as they were sent. */
  readonly target: string;
  readonly headers: RequestHeaders;
  /** The address of the other side of the socket, which may be a proxy's; empty when there is none. */
  readonly address: string;
  /** Aborted when the caller has gone. */
  readonly signal: AbortSignal;
  /**
   * The body, up to the limit of the host, whatever length it declares; before the sender is admitted, up to a few KiB. It can be
   * read more than once.
   */
  readonly body: { bytes(): Promise<Uint8Array> };
  /** Its sender is known, and may send as much as the limit of bodies allows. */
  admit(): void;
  /** The same as Fetch has it, for a protocol whose library expects that. It costs more than a whole decision. */
  toFetch(): Request;
}

/** The request of an exchange: its own headers and body, because every request makes one. */
export class ExchangeRequest implements WireRequest {
  readonly #exchange: Exchange;
  readonly #bodyBytes: number;
  readonly #unadmitted: UnadmittedBodies;
  #isAdmitted = false;
  #bytes: Promise<Uint8Array> | undefined;

  constructor(exchange: Exchange, bodyBytes: number, unadmitted: UnadmittedBodies) {
    this.#exchange = exchange;
    this.#bodyBytes = bodyBytes;
    this.#unadmitted = unadmitted;
  }

  get method(): string {
    return this.#exchange.incoming.method ?? "";
  }

  get target(): string {
    return this.#exchange.incoming.url ?? "";
  }

  get address(): string {
    return this.#exchange.incoming.socket.remoteAddress ?? "";
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

  admit(): void {
    this.#isAdmitted = true;
  }

  bytes(): Promise<Uint8Array> {
    return (this.#bytes ??= this.#read());
  }

  #read(): Promise<Uint8Array> {
    const { incoming, body } = this.#exchange;
    return this.#isAdmitted ? readLimited(incoming, this.#bodyBytes, body) : this.#bytesBeforeAdmission();
  }

  /** What the head says to be too long is not read at all. */
  async #bytesBeforeAdmission(): Promise<Uint8Array> {
    const { incoming, outgoing, connection, body } = this.#exchange;
    const held = this.#unadmitted.open(connection, body);
    outgoing.once("close", () => held.release());
    const most = Math.min(held.most, this.#bodyBytes);
    if (Number(incoming.headers["content-length"] ?? 0) > most) throw tooLarge(most);
    const bytes = await readLimited(incoming, most, body, (piece) => held.onPiece(piece));
    held.finish();
    return bytes;
  }

  toFetch(): Request {
    return new NodeRequest({ req: this.#exchange.incoming, res: this.#exchange.outgoing });
  }
}
