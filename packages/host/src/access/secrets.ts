import { hash, randomBytes, timingSafeEqual } from "node:crypto";

/** A new random id. */
export function freshId(): string {
  return randomBytes(8).toString("hex");
}

/** A new random secret of so many bytes, in hexadecimal digits. */
export function freshSecret(bytes = 32): string {
  return randomBytes(bytes).toString("hex");
}

/** What is stored of a secret, in hexadecimal digits. */
export function secretHashOf(secret: string): string {
  return hash("sha256", secret);
}

/** Whether two hashes are the same. It takes as long whatever they are. */
export function isSameHash(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one, "hex"), Buffer.from(other, "hex")];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** Whether two texts are the same. It takes as long whatever they are. */
export function isSameText(one: string, other: string): boolean {
  return isSameHash(secretHashOf(one), secretHashOf(other));
}
