/** A chart as wide as its place, drawn when it is needed, with its figures as a table below. */
import type { ComponentChildren, JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Draw } from "../charts/common";
import { whenNeeded } from "../schedule";
import { pageTheme } from "../theme";
import { TakeFigure } from "./Take";

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
      const drawing = draw(pageTheme, width);
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
