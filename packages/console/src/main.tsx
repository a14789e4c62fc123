import { render } from "preact";
import { App } from "./app.tsx";
import { startLive } from "./shared/events/live.ts";

const page = document.querySelector("#page");
if (page === null) throw new Error("The page has no place for the console.");
startLive();
render(<App />, page);
