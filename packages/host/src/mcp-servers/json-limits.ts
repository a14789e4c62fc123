/** How much structure a message may have, whatever its size. */
export interface JsonLimits {
  maxNodes: number;
  maxDepth: number;
}

const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;

/**
 * Whether JSON is within the limits. It is checked before it is parsed, so that a small message cannot cause a large amount of
 * work. Invalid JSON may be counted wrongly; it is refused when it is parsed.
 */
export function isWithinJsonLimits(json: Uint8Array, { maxNodes, maxDepth }: JsonLimits): boolean {
  let nodes = 1;
  let depth = 0;
  let isText = false;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at] ?? 0;
    // Strings in JSON have no control characters, so one always ends a string.
    if (isControl(byte)) isText = false;
    else if (byte === quote) isText = !isText;
    else if (isText) at += byte === backslash && !isControl(json[at + 1] ?? 0) ? 1 : 0;
    else if (byte === comma) nodes += 1;
    else if (isOpening(byte)) {
      nodes += 1;
      depth += 1;
      if (depth > maxDepth) return false;
    } else if (isClosing(byte)) depth -= 1;
    if (nodes > maxNodes) return false;
  }
  return true;
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
