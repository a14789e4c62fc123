/** The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
const constants = Uint32Array.from(firstPrimes(64), (prime) => fraction(Math.cbrt(prime)));
/** Likewise of the square roots of the first 8. */
const initial = Uint32Array.from(firstPrimes(8), (prime) => fraction(Math.sqrt(prime)));
const encoder = new TextEncoder();

/** SHA-256 of a text as hex digits. Why it is our own: docs/adr/0019. */
export function sha256(text: string): string {
  const bytes = padded(encoder.encode(text));
  const state = Uint32Array.from(initial);
  const words = new Uint32Array(64);
  for (let offset = 0; offset < bytes.byteLength; offset += 64) compress(state, words, bytes, offset);
  return Array.from(state, (word) => word.toString(16).padStart(8, "0")).join("");
}

/** The message, a one bit, zeros, and the length in bits, to a multiple of 64 bytes. */
function padded(message: Uint8Array): DataView {
  const block = new Uint8Array(Math.ceil((message.length + 9) / 64) * 64);
  block.set(message);
  block[message.length] = 0x80;
  const view = new DataView(block.buffer);
  view.setBigUint64(block.length - 8, BigInt(message.length) * 8n);
  return view;
}

function compress(state: Uint32Array, words: Uint32Array, bytes: DataView, offset: number): void {
  for (let place = 0; place < 64; place += 1)
    words[place] = place < 16 ? bytes.getUint32(offset + place * 4) : extend(words, place);
  // One by one: a list for each block of a megabyte would cost as much as the hash.
  let a = at(state, 0);
  let b = at(state, 1);
  let c = at(state, 2);
  let d = at(state, 3);
  let e = at(state, 4);
  let f = at(state, 5);
  let g = at(state, 6);
  let h = at(state, 7);
  for (let round = 0; round < 64; round += 1) {
    const choice = (e & f) ^ (~e & g);
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const one =
      (h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + choice + at(constants, round) + at(words, round)) | 0;
    const other = ((rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + majority) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + one) | 0;
    d = c;
    c = b;
    b = a;
    a = (one + other) | 0;
  }
  state[0] = at(state, 0) + a;
  state[1] = at(state, 1) + b;
  state[2] = at(state, 2) + c;
  state[3] = at(state, 3) + d;
  state[4] = at(state, 4) + e;
  state[5] = at(state, 5) + f;
  state[6] = at(state, 6) + g;
  state[7] = at(state, 7) + h;
}

function extend(words: Uint32Array, place: number): number {
  const near = at(words, place - 2);
  const far = at(words, place - 15);
  const small = rotate(far, 7) ^ rotate(far, 18) ^ (far >>> 3);
  const large = rotate(near, 17) ^ rotate(near, 19) ^ (near >>> 10);
  return (at(words, place - 16) + small + at(words, place - 7) + large) | 0;
}

function rotate(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by));
}

function at(words: Uint32Array, place: number): number {
  return words[place] ?? 0;
}

function fraction(value: number): number {
  return (value - Math.floor(value)) * 2 ** 32;
}

function firstPrimes(count: number): number[] {
  const primes: number[] = [];
  for (let number = 2; primes.length < count; number += 1) {
    if (primes.every((prime) => number % prime !== 0)) primes.push(number);
  }
  return primes;
}
