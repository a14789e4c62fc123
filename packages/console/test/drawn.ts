import { type ComponentType, h, render } from "preact";
import { onTestFinished, vi } from "vitest";
import { settle } from "./page.ts";

/** As much of an element, or of a text, as the page is drawn with. */
class DrawnNode extends EventTarget {
  readonly localName: string;
  readonly attributes = new Map<string, string>();
  readonly style: Record<string, string> = {};
  childNodes: DrawnNode[] = [];
  parentNode: DrawnNode | null = null;
  data = "";
  value = "";
  // Events have the names that these say.
  readonly onclick = null;
  readonly oninput = null;

  constructor(localName: string) {
    super();
    this.localName = localName;
  }

  get children(): DrawnNode[] {
    return this.childNodes.filter(({ localName }) => localName !== "text");
  }

  get firstChild(): DrawnNode | null {
    return this.childNodes[0] ?? null;
  }

  get nextSibling(): DrawnNode | null {
    const siblings = this.parentNode?.childNodes ?? [];
    return siblings[siblings.indexOf(this) + 1] ?? null;
  }

  insertBefore(node: DrawnNode, before: DrawnNode | null): DrawnNode {
    node.remove();
    const place = before === null ? this.childNodes.length : this.childNodes.indexOf(before);
    this.childNodes.splice(place, 0, node);
    node.parentNode = this;
    return node;
  }

  removeChild(node: DrawnNode): DrawnNode {
    node.remove();
    return node;
  }

  remove(): void {
    const siblings = this.parentNode?.childNodes;
    if (siblings !== undefined && siblings.includes(this)) siblings.splice(siblings.indexOf(this), 1);
    this.parentNode = null;
  }

  setAttribute(name: string, value: unknown): void {
    this.attributes.set(name, String(value));
  }

  removeAttribute(name: string): void {
    this.attributes.delete(name);
  }

  showModal(): void {
    this.setAttribute("open", "");
  }

  focus(): void {}

  scrollTo(): void {}

  contains(node: DrawnNode): boolean {
    return this === node || this.childNodes.some((child) => child.contains(node));
  }

  /** Everything that is written in it. */
  get textContent(): string {
    return this.data + this.childNodes.map((child) => child.textContent).join("");
  }

  /** The elements of a kind in it. */
  all(localName: string): DrawnNode[] {
    const own = this.localName === localName ? [this] : [];
    return [...own, ...this.childNodes.flatMap((child) => child.all(localName))];
  }
}

/** Draws a component of the page that `openPage` opened. */
export async function draw(component: ComponentType) {
  const root = new DrawnNode("body");
  vi.stubGlobal("HTMLElement", DrawnNode);
  Object.assign(document, {
    title: "",
    body: root,
    documentElement: root,
    activeElement: root,
    createElementNS: (_namespace: string, localName: string) => new DrawnNode(localName),
    createTextNode: (text: string) => Object.assign(new DrawnNode("text"), { data: text }),
  });
  const leave = async (): Promise<void> => {
    render(null, root as unknown as Element);
    await settle();
  };
  render(h(component, {}), root as unknown as Element);
  await settle();
  onTestFinished(leave);
  return {
    text: () => root.textContent,
    all: (localName: string) => root.all(localName),
    /** Presses what is written so. */
    async press(text: string): Promise<void> {
      const found = [...root.all("a"), ...root.all("button")].find((one) => one.textContent === text);
      if (found === undefined) throw new Error(`There is no ${text}: ${root.textContent}`);
      found.dispatchEvent(Object.assign(new Event("click", { cancelable: true }), { button: 0 }));
      await settle();
    },
    async type(field: DrawnNode, text: string): Promise<void> {
      field.value = text;
      field.dispatchEvent(new Event("input"));
      await settle();
    },
    leave,
  };
}
