/** How many parts of a unit there are in one. Amounts are whole numbers of such parts, so that sums are exact. */
const decimals = 6;

/** Reads an amount that fits the contract, in millionths of its unit. */
export function readAmount(amount: string | number): bigint {
  const [whole = "", fraction = ""] = String(amount).split(".");
  return BigInt(whole + fraction.padEnd(decimals, "0"));
}

/** An amount as text, as short as it can be. */
export function writeAmount(amount: bigint): string {
  const text = String(amount).padStart(decimals + 1, "0");
  const [whole, fraction] = [text.slice(0, -decimals), text.slice(-decimals)];
  let end = decimals;
  while (fraction[end - 1] === "0") end -= 1;
  return end === 0 ? whole : `${whole}.${fraction.slice(0, end)}`;
}
