/** Some of a list, and whether there is more. */
export interface Page<Item> {
  items: Item[];
  hasMore: boolean;
}

/** Takes the first items that are shown; those that are not leave no gap, and nobody learns of them. */
export async function takePage<Item>(
  candidates: AsyncIterable<Item> | Iterable<Item>,
  limit: number,
  isShown: (item: Item) => Promise<boolean>,
): Promise<Page<Item>> {
  const items: Item[] = [];
  for await (const item of candidates) {
    if (!(await isShown(item))) continue;
    if (items.length === limit) return { items, hasMore: true };
    items.push(item);
  }
  return { items, hasMore: false };
}
