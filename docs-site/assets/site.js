// What a page does besides being read: the menu of narrow screens, copying code, where one is, and search. A script without
// imports, because modules are not loaded from a folder.
(() => {
  const root = document.documentElement.dataset.root;
  const all = (selector) => [...document.querySelectorAll(selector)];
  const make = (tag, properties = {}, children = []) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };
  document.documentElement.classList.add("scripted");

  // The menu
  const menu = document.querySelector("#menu");
  const menuButton = document.querySelector(".menu-button");
  menuButton.addEventListener("click", () => {
    const isOpen = menu.classList.toggle("open");
    menuButton.setAttribute("aria-expanded", String(isOpen));
  });
  menu.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });

  // Code, tables and drawings that are wider than the page can be scrolled by keyboard; others are no stop of Tab.
  const wide = all(".code pre, .table, .drawing");
  const measure = () => {
    for (const element of wide) {
      if (element.scrollWidth > element.clientWidth) element.tabIndex = 0;
      else element.removeAttribute("tabindex");
    }
  };
  measure();
  addEventListener("resize", measure);
  addEventListener("load", measure);

  for (const code of all(".code:not(.output)")) {
    const copy = make("button", { type: "button", className: "copy", textContent: "Copy" });
    copy.addEventListener("click", async () => {
      await navigator.clipboard.writeText(code.querySelector("code").textContent);
      copy.textContent = "Copied";
      setTimeout(() => (copy.textContent = "Copy"), 1500);
    });
    code.append(copy);
  }

  // On this page: the last heading that has passed the top is where one is.
  const entries = all(".outline a").map((link) => [
    link,
    document.getElementById(decodeURIComponent(link.hash.slice(1))),
  ]);
  const showPlace = () => {
    const passed = entries.findLast(([, heading]) => heading.getBoundingClientRect().top < 120);
    for (const [link] of entries) link.toggleAttribute("aria-current", link === passed?.[0]);
  };
  if (entries.length > 0) {
    addEventListener("scroll", showPlace, { passive: true });
    showPlace();
  }

  // Search
  const input = make("input", {
    type: "search",
    placeholder: "Search all pages",
    autocomplete: "off",
    spellcheck: false,
  });
  const found = make("div", { className: "found", id: "found" });
  const status = make("p", { className: "searched" });
  const dialog = make("dialog", {}, [input, found, status]);
  dialog.setAttribute("aria-label", "Search");
  for (const [name, value] of [
    ["role", "combobox"],
    ["aria-label", "Search all pages"],
    ["aria-controls", "found"],
    ["aria-expanded", "false"],
    ["aria-autocomplete", "list"],
  ]) {
    input.setAttribute(name, value);
  }
  found.setAttribute("role", "listbox");
  found.setAttribute("aria-label", "Found");
  status.setAttribute("role", "status");
  document.body.append(dialog);

  let engine;
  const load = (name) =>
    new Promise((resolve, reject) => {
      const script = make("script", { src: `${root}assets/${name}`, onload: resolve, onerror: reject });
      document.head.append(script);
    });
  /** The index is loaded when somebody wants to search. */
  const openEngine = () => {
    engine ??= Promise.all(["minisearch.js", "search-options.js", "search-index.js"].map(load)).then(() =>
      globalThis.MiniSearch.loadJS(globalThis.searchIndex, globalThis.searchOptions),
    );
    return engine;
  };

  const open = () => {
    if (!dialog.open) dialog.showModal();
    input.select();
    void openEngine().then(show);
  };
  let chosen = 0;
  const choose = (index) => {
    const options = [...found.children];
    chosen = Math.max(0, Math.min(index, options.length - 1));
    for (const [at, item] of options.entries()) item.setAttribute("aria-selected", String(at === chosen));
    options[chosen]?.scrollIntoView({ block: "nearest" });
    if (options.length > 0) input.setAttribute("aria-activedescendant", options[chosen].id);
    else input.removeAttribute("aria-activedescendant");
  };
  async function show() {
    const search = await openEngine();
    const query = input.value.trim();
    const results = query === "" ? [] : search.search(query);
    found.replaceChildren(...results.slice(0, 20).map(option));
    input.setAttribute("aria-expanded", String(results.length > 0));
    if (query === "") status.textContent = "Type words, codes or settings. Enter opens, Escape closes.";
    else if (results.length === 0) status.textContent = "Nothing has these words.";
    else status.textContent = `${results.length} of ${search.documentCount} sections have these words.`;
    choose(0);
  }
  function option(result, index) {
    const { id, page, heading, group, text } = result;
    const words = result.terms.toSorted((one, other) => other.length - one.length);
    const link = make("a", { id: `found-${index}`, href: root + id, tabIndex: -1 }, [
      make("b", {}, marked(heading, words)),
      make("span", { className: "place", textContent: heading === page ? `  ${group}` : `  ${page}` }),
      make("p", {}, marked(excerpt(text, words), words)),
    ]);
    link.setAttribute("role", "option");
    link.addEventListener("click", () => dialog.close());
    return link;
  }
  /** The text around the first of the words. */
  function excerpt(text, words) {
    const at = text.toLowerCase().search(new RegExp(words.map(quoted).join("|")));
    const start = Math.max(0, text.lastIndexOf(" ", Math.max(0, at - 50)));
    const part = text.slice(start, start + 180);
    return `${start > 0 ? "…" : ""}${part}${start + 180 < text.length ? "…" : ""}`;
  }
  function marked(text, words) {
    return text
      .split(new RegExp(`(${words.map(quoted).join("|")})`, "i"))
      .map((part, at) => (at % 2 === 1 ? make("mark", { textContent: part }) : part));
  }
  const quoted = (word) => word.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);

  document.querySelector(".search-button").addEventListener("click", open);
  input.addEventListener("input", show);
  input.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      choose(chosen + step);
    } else if (event.key === "Enter") {
      found.children[chosen]?.click();
    }
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  addEventListener("keydown", (event) => {
    const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? "");
    const isAsked = (event.key === "/" && !isTyping) || (event.key === "k" && (event.ctrlKey || event.metaKey));
    if (!isAsked) return;
    event.preventDefault();
    open();
  });
})();
