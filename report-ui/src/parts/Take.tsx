/** Small buttons that copy a table or save a figure, and say that they did. */
import type { JSX, RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";
import { csvOf, fileOf, markdownOf, save, textsOf } from "../take";

/** How long "copied" stands, in milliseconds. */
const SAID_FOR = 2_000;
/** Pixels of a saved picture for each of the screen's, so that it stays sharp on paper and slides. */
const DENSITY = 2;

export function TakeTable({ table }: { table: RefObject<HTMLTableElement> }): JSX.Element {
  const copied = (write: (rows: string[][]) => string) => async (): Promise<void> => {
    if (table.current) await copy(write(textsOf(table.current)));
  };
  return <Offers verb="copy" done="copied" offers={{ Markdown: copied(markdownOf), CSV: copied(csvOf) }} />;
}

/** The figure that stands in `box`, under a name that tells what it shows. */
export function TakeFigure({ box, name }: { box: RefObject<HTMLElement>; name: string }): JSX.Element {
  const drawing = (): SVGSVGElement | undefined => box.current?.querySelector<SVGSVGElement>("svg.plot") ?? undefined;
  const saved = (ending: string, make: (of: SVGSVGElement) => Promise<Blob>) => async (): Promise<void> => {
    const of = drawing();
    if (of) save(await make(of), `${slug(name)}.${ending}`);
  };
  return <Offers verb="save" done="saved" offers={{ SVG: saved("svg", async (of) => vector(of)), PNG: saved("png", picture) }} />;
}

interface OffersProps {
  verb: string;
  done: string;
  offers: Record<string, () => Promise<void>>;
}

function Offers({ verb, done, offers }: OffersProps): JSX.Element {
  const [said, say] = useState("");
  useEffect(() => {
    if (said === "") return undefined;
    const timer = setTimeout(() => say(""), SAID_FOR);
    return () => clearTimeout(timer);
  }, [said]);
  const press = (take: () => Promise<void>): void => {
    take().then(() => say(done), (error: unknown) => say(`not ${done}: ${String(error)}`));
  };
  return (
    <p class="take">
      <span aria-live="polite">{said === "" ? verb : said}</span>
      {Object.entries(offers).map(([name, take]) => (
        <button key={name} type="button" aria-label={`${verb} as ${name}`} onClick={() => press(take)}>
          {name}
        </button>
      ))}
    </p>
  );
}

/** To the clipboard; a browser that has none for files still copies what is selected. */
async function copy(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = document.createElement("textarea");
  field.value = text;
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  if (!isCopied) throw new Error("the browser does not let pages copy");
}

function vector(drawing: SVGSVGElement): Blob {
  const page = getComputedStyle(document.documentElement);
  return new Blob([fileOf(drawing, (variable) => page.getPropertyValue(variable).trim())], { type: "image/svg+xml" });
}

async function picture(drawing: SVGSVGElement): Promise<Blob> {
  const { width, height } = drawing.getBoundingClientRect();
  const image = new Image(width, height);
  image.src = `data:image/svg+xml,${encodeURIComponent(await vector(drawing).text())}`;
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: width * DENSITY, height: height * DENSITY });
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the browser made no picture"))), "image/png"));
}

const slug = (text: string): string => text.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60) || "figure";
