/** Says that the page follows a run, and what goes on there; at the end it hands over the report. */
import type { JSX } from "preact";
import type { Live } from "../live";
import { save } from "../take";

export function LiveNotice({ live, name }: { live: Live; name: string }): JSX.Element {
  switch (live.state) {
    case "following":
      return (
        <p class="live notice">
          <b>live</b> {live.words || "following the run"}
        </p>
      );
    case "lost":
      return (
        <p class="live notice" role="status">
          <b>not live</b> The run cannot be reached; below is what was measured until then. The page goes on as soon as it can.
        </p>
      );
    case "over":
      return (
        <p class="live notice" role="status">
          <b>The run is over.</b> This page is the report and needs assay no longer.{" "}
          <button type="button" class="scheme" onClick={() => save(new Blob([live.saved], { type: "text/html" }), `${name}.html`)}>
            save it
          </button>
        </p>
      );
  }
}
