// The fonts of the reader's system: the theme's own would be most of what a page loads.
export { default } from "vitepress/theme-without-fonts";
// oxlint-disable-next-line import/no-unassigned-import -- styles have no names
import "./site.css";
