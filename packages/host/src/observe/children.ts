/** Gives each combination of labels its child of a metric: made once, so that counting builds no label objects. */
export function childrenOf<Child>(make: (one: string, other: string) => Child): (one: string, other?: string) => Child {
  const families = new Map<string, Map<string, Child>>();
  return (one, other = "") => {
    let family = families.get(one);
    if (family === undefined) families.set(one, (family = new Map()));
    let child = family.get(other);
    if (child === undefined) family.set(other, (child = make(one, other)));
    return child;
  };
}
