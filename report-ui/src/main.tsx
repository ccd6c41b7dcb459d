/** Starts the page: colour scheme first, so that nothing flashes; then the data; then the report. */
import { render } from "preact";
import { App } from "./App";
import { open } from "./data";
import "./style.css";
import "./controls.css";
import "./evidence.css";
import { chooseScheme, chosenScheme } from "./theme";

chooseScheme(chosenScheme());
const place = document.getElementById("app");
if (place) {
  try {
    const source = await open(document.getElementById("assay-data")?.textContent ?? "");
    place.replaceChildren();
    render(<App source={source} />, place);
  } catch (error) {
    const notice = document.createElement("p");
    notice.className = "notice";
    notice.textContent = error instanceof Error ? error.message : String(error);
    place.replaceChildren(notice);
  }
}
