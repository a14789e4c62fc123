import { mostBytesOf, type JsonValue } from "./json.ts";

/** True when the JSON text of the value has at most so many bytes of UTF-8. Nothing is serialized, and the count stops early. */
export function fitsInBytes(value: JsonValue, maxBytes: number): boolean {
  // Most values are so small that they fit even if every character is escaped. They are not measured.
  return mostBytesOf(value) <= maxBytes || count(value, maxBytes) >= 0;
}

/** What is left of the bytes after the value; negative as soon as they are used up. The value must not be cyclic. */
function count(value: JsonValue, bytes: number): number {
  if (typeof value === "string") return bytes - bytesOf(value, bytes);
  if (typeof value !== "object" || value === null) return bytes - String(value).length;
  let left = bytes - 2;
  let separator = 0;
  if (Array.isArray(value)) {
    for (const part of value) {
      left = count(part, left - separator);
      if (left < 0) return left;
      separator = 1;
    }
    return left;
  }
  for (const key of Object.keys(value)) {
    left = count(value[key] as JsonValue, left - separator - 1 - bytesOf(key, left));
    if (left < 0) return left;
    separator = 1;
  }
  return left;
}

function bytesOf(text: string, left: number): number {
  let bytes = 2;
  for (let place = 0; place < text.length && bytes <= left; place += 1) bytes += bytesAt(text, place);
  return bytes;
}

const shortEscapes = new Set([...'\b\t\n\f\r"\\'].map((character) => character.charCodeAt(0)));

/** Bytes of one UTF-16 unit in JSON. Each half of a surrogate pair counts two of the pair's four; a lone one is escaped. */
function bytesAt(text: string, place: number): number {
  const unit = text.charCodeAt(place);
  if (shortEscapes.has(unit)) return 2;
  if (unit < 0x20) return 6;
  if (unit < 0x80) return 1;
  if (unit < 0x8_00) return 2;
  if (unit < 0xd8_00 || unit > 0xdf_ff) return 3;
  const isHigh = unit < 0xdc_00;
  const other = text.charCodeAt(isHigh ? place + 1 : place - 1);
  const isPaired = isHigh ? other >= 0xdc_00 && other <= 0xdf_ff : other >= 0xd8_00 && other < 0xdc_00;
  return isPaired ? 2 : 6;
}
