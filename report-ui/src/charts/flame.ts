/** A flame graph (Gregg, ACM Queue 14(2), 2016): calls stand on their callers, as wide as their time. */
import { duration, percent } from "../format";
import { matches, pathOf, type Call } from "../flame";
import type { Theme } from "../theme";
import { elide, FONT_SIZE } from "./common";

const ROW = 19;
/** Narrower than this nothing is drawn, and no name below the other. */
const LEAST = 0.6;
const LEAST_NAME = 34;
/** How full a call is that takes as much as elsewhere. */
const LEAST_FULL = 0.12;

export interface FlameView {
  /** The call that takes the whole width; its callers stand below it. */
  zoom: Call;
  find: string;
  onZoom: (call: Call) => void;
}

interface Bar {
  call: Call;
  left: number;
  width: number;
  row: number;
}

export function flameChart({ zoom, find, onZoom }: FlameView, theme: Theme, width: number): Element {
  const callers = pathOf(zoom).slice(0, -1).map((call, row): Bar => ({ call, left: 0, width, row }));
  const bars = [...callers, ...barsOf(zoom, 0, width, callers.length)];
  const height = (Math.max(...bars.map(({ row }) => row)) + 1) * ROW;
  const svg = element("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "font-size": FONT_SIZE - 1.5, fill: theme.ink, class: "plot flame" });
  for (const bar of bars) svg.append(drawn(bar, bar.row < callers.length, find, onZoom, theme));
  return svg;
}

/** A call and all above it that can be seen. */
function barsOf(call: Call, left: number, width: number, row: number): Bar[] {
  if (width < LEAST) return [];
  const bars: Bar[] = [{ call, left, width, row }];
  let at = left;
  for (const callee of call.callees) {
    const wide = call.ns > 0 ? (callee.ns / call.ns) * width : 0;
    bars.push(...barsOf(callee, at, wide, row + 1));
    at += wide;
  }
  return bars;
}

function drawn({ call, left, width, row }: Bar, isCaller: boolean, find: string, onZoom: (call: Call) => void, theme: Theme): Element {
  const group = element("g", { class: "call" });
  const [fill, opacity] = colorOf(call, theme);
  const isFound = matches(call, find);
  const box = { x: left, y: row * ROW, width: Math.max(0.5, width - 0.6), height: ROW - 1, fill, "fill-opacity": isCaller ? opacity / 2 : opacity };
  group.append(element("rect", isFound ? { ...box, stroke: theme.ink, "stroke-width": 1.5 } : box));
  if (width >= LEAST_NAME) group.append(element("text", { x: left + 4, y: row * ROW + ROW - 6, "pointer-events": "none" }, elide(call.name, width - 8)));
  group.append(element("title", {}, titleOf(call)));
  group.addEventListener("click", () => onZoom(call));
  return group;
}

/** What a pointer reveals. */
export function titleOf(call: Call): string {
  const whole = pathOf(call)[0]?.ns ?? 0;
  const share = whole > 0 ? `, ${percent(call.ns / whole)}` : "";
  const difference = call.base === null ? "" : `\n${call.ns >= call.base ? "+" : "−"}${duration(Math.abs(call.ns - call.base))} against ${duration(call.base)}`;
  return `${call.name}\n${duration(call.ns)} for each answer${share}${difference}`;
}

/** Sorts of code alone; of two contenders, whether a call takes more or less, the fuller the greater the difference. */
function colorOf(call: Call, theme: Theme): [fill: string, opacity: number] {
  if (call.base === null) return [theme.code[call.kind], 1];
  const most = Math.max(call.ns, call.base);
  const share = most > 0 ? (call.ns - call.base) / most : 0;
  return [share >= 0 ? theme.more : theme.less, LEAST_FULL + (1 - LEAST_FULL) * Math.abs(share)];
}

function element(name: string, attributes: Record<string, string | number>, text = ""): Element {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, typeof value === "number" ? String(Math.round(value * 100) / 100) : value);
  if (text) made.textContent = text;
  return made;
}
