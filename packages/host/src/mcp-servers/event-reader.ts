const newline = 0x0a;
const carriageReturn = 0x0d;
const colon = 0x3a;
const space = 0x20;
/** What a piece of a line counts beyond its bytes, because many small pieces take more memory than their bytes. */
const pieceBytes = 64;

/** A field of an event, as bytes. */
interface Field {
  name: string;
  value: Buffer;
}

/**
 * Makes a function that takes the bytes of an event stream and returns the data of each message that they complete. It ignores
 * events of other types than `message`. Throws for an event of more than `maxBytes`.
 */
export function createEventReader(maxBytes: number, tooLarge: () => Error): (chunk: Uint8Array) => Buffer[] {
  let line: Buffer[] = [];
  let data: Buffer[] = [];
  let isMessage = true;
  let size = 0;
  let isAfterReturn = false;

  const endEvent = (): Buffer[] => {
    const messages = isMessage && data.length > 0 ? [joinLines(data)] : [];
    [data, isMessage, size] = [[], true, 0];
    return messages;
  };
  /** An empty line ends an event. */
  const endLine = (): Buffer[] => {
    const bytes = Buffer.concat(line);
    line = [];
    if (bytes.length === 0) return endEvent();
    const { name, value } = fieldOf(bytes);
    if (name === "data") data.push(value);
    if (name === "event") isMessage = ["", "message"].includes(value.toString("utf8"));
    return [];
  };
  const add = (part: Uint8Array): void => {
    if (part.length === 0) return;
    line.push(Buffer.from(part.buffer, part.byteOffset, part.length));
    size += part.length + pieceBytes;
    if (size > maxBytes) throw tooLarge();
  };

  return (chunk) => {
    const messages: Buffer[] = [];
    let start = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at];
      const isSecondOfTwo = byte === newline && isAfterReturn;
      isAfterReturn = byte === carriageReturn;
      if (byte !== newline && byte !== carriageReturn) continue;
      if (!isSecondOfTwo) {
        add(chunk.subarray(start, at));
        messages.push(...endLine());
      }
      start = at + 1;
    }
    add(chunk.subarray(start));
    return messages;
  };
}

function fieldOf(line: Buffer): Field {
  const at = line.indexOf(colon);
  if (at === -1) return { name: line.toString("utf8"), value: Buffer.alloc(0) };
  const isSpaced = line[at + 1] === space;
  return { name: line.subarray(0, at).toString("utf8"), value: line.subarray(isSpaced ? at + 2 : at + 1) };
}

function joinLines(lines: readonly Buffer[]): Buffer {
  const end = Buffer.from([newline]);
  return Buffer.concat(lines.flatMap((line, index) => (index === 0 ? [line] : [end, line])));
}
