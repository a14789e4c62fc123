import { render } from "preact";
import { PersonPage } from "./person-page.tsx";

const page = document.querySelector("#page");
if (page === null) throw new Error("The page has no place for what it shows.");
render(<PersonPage />, page);
