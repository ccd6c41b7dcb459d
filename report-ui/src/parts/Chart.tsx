/** A chart as wide as its place, drawn when it is needed, with its figures as a table below. */
import type { ComponentChildren, JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Draw } from "../charts/common";
import { whenNeeded } from "../schedule";
import { pageTheme } from "../theme";
import { TakeFigure } from "./Take";

/** The size of letters for which charts are drawn, in pixels. */
const USUAL_TEXT = 16;

/** How many times larger than usual the reader wants letters. */
const textScale = (): number => (parseFloat(getComputedStyle(document.documentElement).fontSize) || USUAL_TEXT) / USUAL_TEXT;

/** Drawn for less room and then enlarged, so that letters, rows and marks all keep pace with the page's text. */
export function drawnAt(scale: number, width: number, draw: Draw): Element {
  const drawing = draw(pageTheme, Math.floor(width / scale));
  for (const side of ["width", "height"]) {
    drawing.setAttribute(side, String(Number(drawing.getAttribute(side)) * scale));
  }
  return drawing;
}

interface Props {
  /** What the chart shows, for those who cannot see it. */
  label: string;
  draw: Draw;
  /** The same figures as a table; it is not made before somebody asks for it. */
  twin?: ComponentChildren;
}

export function Chart({ label, draw, twin }: Props): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [open, setOpen] = useState(false);

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    setWidth(Math.floor(element.clientWidth));
    const observer = new ResizeObserver(() => setWidth(Math.floor(element.clientWidth)));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  useLayoutEffect(() => {
    const element = box.current;
    if (!element || width === 0) return;
    element.classList.add("undrawn");
    return whenNeeded(element, () => {
      const drawing = drawnAt(textScale(), width, draw);
      // The label speaks for all of it; its parts have labels that no role allows.
      drawing.setAttribute("aria-hidden", "true");
      element.replaceChildren(drawing);
      element.classList.remove("undrawn");
    });
  }, [draw, width]);

  return (
    <figure class="chart">
      <div ref={box} class={width === 0 ? "undrawn" : ""} role="img" aria-label={label} />
      <TakeFigure box={box} name={label.replace(/[;.].*/, "")} />
      {twin && (
        <details class="twin" onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>The same as a table</summary>
          {open && twin}
        </details>
      )}
    </figure>
  );
}
