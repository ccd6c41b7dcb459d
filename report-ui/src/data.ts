/** The data that travel inside the page: each run's head, and what was found at each place, unpacked when it is wanted. */
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
  /** What was found at a place of a run, by their indices; the same promise every time. */
  findings: (run: number, spot: number) => Promise<Findings>;
  /** The same without waiting, if it was unpacked before. */
  known: (run: number, spot: number) => Findings | undefined;
}

export async function open(text: string): Promise<Source> {
  if (text.trim() === "") throw new Error("This page holds no data. Make a report with `assay report RUN -o report.html`.");
  const packed = JSON.parse(text) as Packed;
  if (packed.schema !== SCHEMA) throw new Error(`This page reads ${SCHEMA}, but its data are ${packed.schema}. Make the report again.`);
  const heads = await Promise.all(packed.runs.map((run) => unpack<Head>(run.head)));
  return { heads, ...cache(packed) };
}

const NOTHING: Findings = { sentences: [], standings: [], notes: [], latency: [], redlines: [], answered: [], samples: [], curves: [], flames: [], pairs: { faster: [], slower: [], estimate: [], low: [], high: [], call: [] } };

function cache({ runs }: Packed): Pick<Source, "findings" | "known"> {
  const asked = new Map<string, Promise<Findings>>();
  const known = new Map<string, Findings>();
  const fetch = async (key: string, text: string | undefined): Promise<Findings> => {
    const findings = text === undefined ? NOTHING : await unpack<Findings>(text);
    known.set(key, findings);
    return findings;
  };
  return {
    known: (run, spot) => known.get(`${run}/${spot}`),
    findings: (run, spot) => {
      const key = `${run}/${spot}`;
      const found = asked.get(key) ?? fetch(key, runs[run]?.findings[spot]);
      asked.set(key, found);
      return found;
    },
  };
}

async function unpack<Part>(base64: string): Promise<Part> {
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text()) as Part;
}
