import { render } from "preact";
import { DocsPage } from "./docs-page.tsx";

const page = document.querySelector("#page");
if (page === null) throw new Error("The page has no place for the description.");
render(<DocsPage />, page);
