/** The pictures of the menu: lines in a square of 20. They are beside words and say nothing of their own. */
const paths: Readonly<Record<string, string>> = {
  now: "M3 11h3l2.5-6 4 11 2.2-5H17",
  questions: "M4 4h12v9H9l-3.5 3.5V13H4zM8.4 7.2a1.7 1.7 0 1 1 2.3 1.6c-.5.2-.7.5-.7 1M10 11.4v.1",
  turns: "M5 4v12M5 6h8M5 10h5M5 14h10",
  grants: "M10 3.5v4M5 12.5V10h10v2.5M10 7.5V10M3.5 12.5h3v3h-3zM13.5 12.5h3v3h-3zM8.5 3.5h3v3h-3z",
  why: "M9 14.5a5.5 5.5 0 1 1 4-1.6l3.5 3.6M9 6.5v3M9 11.6v.1",
  trail: "M6 3.5h8.5v13H5.5v-13M8 7h4M8 10h4M8 13h2.5",
  access: "M12.5 7.5a3 3 0 1 1-2.6 4.5L3.5 12v2.5M6.5 12v2",
  webhooks: "M3.5 5.5h13v9h-13zM3.5 6l6.5 5 6.5-5",
  tools:
    "M12.5 3.7a4 4 0 0 0-3.6 5.6L3.7 14.5a1.3 1.3 0 0 0 1.8 1.8l5.2-5.2a4 4 0 0 0 5.4-4.7l-2.3 2.3-2.2-.5-.5-2.2 2.3-2.3z",
};

/** The picture of a screen in the menu. */
export function Icon({ name }: { name: string }) {
  return (
    <svg class="icon" viewBox="0 0 20 20" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  );
}

/** The mark of Turnpike: a barrier. */
export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="7" />
      <path d="M8 25V9m0 4 17-5" />
      <circle cx="8" cy="13" r="2.6" />
    </svg>
  );
}
