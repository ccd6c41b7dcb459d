/** The data that travel inside the page: each run's head, and what was found at each place, unpacked when it is wanted. */
import { unzlibSync } from "fflate";
import type { Findings, Head } from "./types";

const SCHEMA = "assay-page/2";

/** As crates/report/src/html.rs writes it; each text is base64 of zlib-compressed JSON. */
interface Packed {
  schema: string;
  runs: { head: string; findings: string[] }[];
}

/** The data of a page. */
export interface Source {
  heads: Head[];
  /** What was found at a place of a run, by their indices; the same object every time. */
  findings: (run: number, spot: number) => Findings;
}

export function open(text: string): Source {
  if (text.trim() === "") throw new Error("This page holds no data. Make a report with `assay report RUN -o report.html`.");
  const packed = JSON.parse(text) as Packed;
  if (packed.schema !== SCHEMA) throw new Error(`This page reads ${SCHEMA}, but its data are ${packed.schema}. Make the report again.`);
  return { heads: packed.runs.map((run) => unpack<Head>(run.head)), findings: unpacking(packed) };
}

/** What was found where nothing was. */
export const NOTHING: Findings = { sentences: [], standings: [], notes: [], latency: [], redlines: [], answered: [], samples: [], curves: [], flames: [], pairs: { faster: [], slower: [], estimate: [], low: [], high: [], call: [] } };

function unpacking({ runs }: Packed): Source["findings"] {
  const unpacked = new Map<string, Findings>();
  return (run, spot) => {
    const text = runs[run]?.findings[spot];
    if (text === undefined) return NOTHING;
    const key = `${run}/${spot}`;
    const findings = unpacked.get(key) ?? unpack<Findings>(text);
    unpacked.set(key, findings);
    return findings;
  };
}

/** Not by the browser's own DecompressionStream, which makes wait: a page has to be drawn when it is said to be loaded. */
function unpack<Part>(base64: string): Part {
  const packed = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(unzlibSync(packed))) as Part;
}
