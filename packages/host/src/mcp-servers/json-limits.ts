/** How much structure a message may have, whatever its size. */
export interface JsonLimits {
  maxNodes: number;
  maxDepth: number;
}

const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;
const dataField = Buffer.from("data:");

/**
 * Whether bytes that are meant to be JSON, or a stream of events with JSON as their data, keep to the limits. They are counted
 * before anybody parses them, so that a small message cannot become a large amount of work. What is neither may be counted
 * wrongly; it is refused when it is parsed.
 */
export function isWithinJsonLimits(json: Uint8Array, { maxNodes, maxDepth }: JsonLimits): boolean {
  let nodes = 1;
  let depth = 0;
  // Of events only the data is parsed: what closes in the lines between, or in an event before, closes nothing of it.
  let dataDepth = 0;
  let isData = isDataAt(json, 0);
  let isText = false;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at] ?? 0;
    if (isControl(byte)) {
      // No text of JSON has a control character, escaped or not. A body may hold several messages, each in lines of its own.
      isText = false;
      if (isLineEnd(byte)) isData = isDataAt(json, at + 1);
    } else if (byte === quote) isText = !isText;
    else if (isText) at += byte === backslash && !isControl(json[at + 1] ?? 0) ? 1 : 0;
    else if (byte === comma) nodes += 1;
    else if (isOpening(byte)) {
      nodes += 1;
      depth += 1;
      if (isData) dataDepth += 1;
      if (depth > maxDepth || dataDepth > maxDepth) return false;
    } else if (isClosing(byte)) {
      depth -= 1;
      if (isData) dataDepth = Math.max(0, dataDepth - 1);
    }
    if (nodes > maxNodes) return false;
  }
  return true;
}

function isDataAt(json: Uint8Array, at: number): boolean {
  return dataField.every((byte, index) => json[at + index] === byte);
}

function isLineEnd(byte: number): boolean {
  return byte === 0x0a || byte === 0x0d;
}

function isControl(byte: number): boolean {
  return byte < 0x20;
}

function isOpening(byte: number): boolean {
  return byte === 0x5b || byte === 0x7b;
}

function isClosing(byte: number): boolean {
  return byte === 0x5d || byte === 0x7d;
}
