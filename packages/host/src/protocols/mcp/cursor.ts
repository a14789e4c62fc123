import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";

/** A cursor that says where a list continues. It is neither secret nor trusted: the grants decide what a page shows. */
export function writeCursor(place: object): string {
  return Buffer.from(JSON.stringify(place)).toString("base64url");
}

/** The content of a cursor; undefined when this host did not write it. */
export function readCursor(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, "base64url").toString()) as unknown;
  } catch {
    return undefined;
  }
}

/** The error for an invalid cursor. */
export function invalidCursor(): ProtocolError {
  const message = "The cursor is not valid here. Start again without a cursor.";
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message, { code: "invalid_request" });
}
