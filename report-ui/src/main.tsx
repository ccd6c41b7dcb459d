/** Starts the page: colour scheme first, so that nothing flashes; then the data; then the report. */
import { render } from "preact";
import { App } from "./App";
import { open } from "./data";
import { follow, newsOf, type Live } from "./live";
import "./style.css";
import "./controls.css";
import "./evidence.css";
import { chooseScheme, chosenScheme } from "./theme";

chooseScheme(chosenScheme());
const place = document.getElementById("app");
if (place) {
  try {
    begin(place);
  } catch (error) {
    const notice = document.createElement("p");
    notice.className = "notice";
    notice.textContent = error instanceof Error ? error.message : String(error);
    place.replaceChildren(notice);
  }
}

/** Draws the report, and again whenever the run that it follows has news. */
function begin(place: Element): void {
  let source = open(document.getElementById("assay-data")?.textContent ?? "");
  const news = newsOf(document, location.protocol);
  let live: Live | null = news === undefined ? null : { state: "following", words: "" };
  const draw = (): void => render(<App source={source} live={live} />, place);
  place.replaceChildren();
  draw();
  if (news === undefined) return;
  follow(document, new EventSource(news), {
    show: (newer) => {
      source = newer;
      draw();
    },
    say: (newer) => {
      live = newer;
      draw();
    },
  });
}
