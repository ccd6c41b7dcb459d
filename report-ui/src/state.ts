/** What the reader looks at, kept in the address's fragment so that a link shows the same. */
import type { Head, Spot } from "./types";

export interface View {
  /** Index of the run. */
  run: number;
  workload: string;
  /** Connections, with the depth of their pipelines: `64`, `64×8`. */
  width: string;
  /** Network and protocol, as far as they differ: `user/xdp`, `h1+tls`; empty where the run has one setting only. */
  setting: string;
  /** What the standings stand for, and against whom; empty for the limit. */
  metric: string;
  baseline: string;
  /** Column by which the standings are sorted, after a minus when descending; empty as they come. */
  sort: string;
  /** The load whose durations are drawn, and the percentile against the rate; empty for the first that there is. */
  load: string;
  tail: string;
  language: string;
  kind: string;
  link: string;
  find: string;
  pins: string[];
  /** The contender whose drawer is open. */
  open: string;
}

/** More colours than this nobody tells apart. */
export const MOST_PINS = 6;

/** The names of the fields in the fragment; `run` and `pins` are no texts. */
const KEYS = [
  ["workload", "workload"],
  ["width", "connections"],
  ["setting", "network"],
  ["metric", "metric"],
  ["baseline", "baseline"],
  ["sort", "sort"],
  ["load", "load"],
  ["tail", "tail"],
  ["language", "lang"],
  ["kind", "kind"],
  ["link", "link"],
  ["find", "find"],
  ["open", "show"],
] as const;

/** A place as the record's cells have it: what is as usual is left out. */
type Where = Pick<Spot, "workload" | "connections"> & Partial<Pick<Spot, "pipeline" | "network" | "protocol">>;

export const widthOf = ({ connections, pipeline = 1 }: Pick<Where, "connections" | "pipeline">): string => (pipeline > 1 ? `${connections}×${pipeline}` : String(connections));

/** What a server was started for: `user/xdp`, `h1+tls`, `user/xdp over h1+tls`. */
export function settingOf({ network, protocol = "h1" }: Pick<Where, "network" | "protocol">): string {
  if (!network) return protocol;
  return protocol === "h1" ? network : `${network} over ${protocol}`;
}

/** A load as people write it, but for the one whose word means nothing to who did not write it. */
export const loadNamed = (offered: string): string => (offered === "common" ? "the common rate" : offered);

/** `at capacity`, `at 5000/s`, `at the common rate`. */
export const atLoad = (offered = "max"): string => (offered === "max" ? "at capacity" : `at ${loadNamed(offered)}`);

/** A cell in words: `hello at 64 on user/xdp, 5000/s`. */
export function placeInWords(cell: Where & { offered?: string }): string {
  const setting = settingOf(cell);
  const load = cell.offered && cell.offered !== "max" ? `, ${loadNamed(cell.offered)}` : "";
  return `${cell.workload} at ${widthOf(cell)}${setting === "h1" ? "" : ` on ${setting}`}${load}`;
}

/** The same workload over as many connections, in whatever setting. */
export const isBeside = (one: Where, other: Where): boolean => one.workload === other.workload && widthOf(one) === widthOf(other);

export const isSamePlace = (one: Where, other: Where): boolean => isBeside(one, other) && settingOf(one) === settingOf(other);

export const workloadsOf = (spots: readonly Spot[]): string[] => [...new Set(spots.map((spot) => spot.workload))];

/** The settings to choose from, for all workloads or for one; none where the whole run had the same. */
export function settingsOf(spots: readonly Spot[], workload?: string): string[] {
  const all = new Set(spots.map(settingOf));
  const there = spots.filter((spot) => workload === undefined || spot.workload === workload);
  return all.size > 1 ? [...new Set(there.map(settingOf))] : [];
}

/** What the settings of a run differ in. */
export function legendOf(spots: readonly Spot[]): string {
  const protocols = new Set(spots.map(({ protocol }) => protocol));
  const networks = new Set(spots.map(({ network }) => network ?? ""));
  if (protocols.size < 2) return "network";
  return networks.size < 2 ? "protocol" : "network and protocol";
}

/** Whether a place is in the setting that is looked at. */
export const isIn = (spot: Spot, setting: string): boolean => setting === "" || settingOf(spot) === setting;

export const widthsOf = (spots: readonly Spot[], workload: string, setting: string): string[] =>
  spots.filter((spot) => spot.workload === workload && isIn(spot, setting)).map(widthOf);

export const spotIndex = (spots: readonly Spot[], view: PlaceView): number =>
  spots.findIndex((spot) => spot.workload === view.workload && widthOf(spot) === view.width && isIn(spot, view.setting));

export function parseView(fragment: string, heads: readonly Pick<Head, "spots" | "contenders">[]): View {
  const wanted = new URLSearchParams(fragment.replace(/^#/, ""));
  const run = Number(wanted.get("run") ?? 1) - 1;
  const head = heads[run] ?? heads[0];
  const names = new Set(head?.contenders.map((entry) => entry.name));
  const texts = Object.fromEntries(KEYS.map(([field, key]) => [field, wanted.get(key) ?? ""])) as Record<(typeof KEYS)[number][0], string>;
  const pins = (wanted.get("pin") ?? "").split(",").filter((name) => names.has(name));
  return {
    ...texts,
    ...placeOf(head?.spots ?? [], texts),
    run: heads[run] ? run : 0,
    open: names.has(texts.open) ? texts.open : "",
    pins: [...new Set(pins)].slice(0, MOST_PINS),
  };
}

type PlaceView = Pick<View, "workload" | "width" | "setting">;

/** What was asked for if it exists, else the first workload's first setting's middle level. */
function placeOf(spots: readonly Spot[], asked: PlaceView): PlaceView {
  const workloads = workloadsOf(spots);
  const workload = workloads.includes(asked.workload) ? asked.workload : (workloads[0] ?? "");
  const settings = settingsOf(spots, workload);
  const setting = settings.includes(asked.setting) ? asked.setting : (settings[0] ?? "");
  const widths = widthsOf(spots, workload, setting);
  const width = asked.width.replace("x", "×");
  return { workload, setting, width: widths.includes(width) ? width : (widths[Math.floor(widths.length / 2)] ?? "") };
}

/** Only what differs from nothing, so that links stay short. */
export function fragmentOf(view: View): string {
  const parts = new URLSearchParams(view.run > 0 ? { run: String(view.run + 1) } : {});
  for (const [field, key] of KEYS) {
    if (view[field] !== "") parts.set(key, view[field].replace("×", "x"));
  }
  if (view.pins.length > 0) parts.set("pin", view.pins.join(","));
  return `#${parts.toString().replaceAll("%2C", ",").replaceAll("%2F", "/").replaceAll("%3A", ":")}`;
}

/** The view after a change; a place that does not exist there becomes one that does. */
export function changed(view: View, change: Partial<View>, heads: readonly Pick<Head, "spots" | "contenders">[]): View {
  return parseView(fragmentOf({ ...view, ...change }), heads);
}

/** Pins a contender, or no longer; beyond the most the oldest goes. */
export function togglePin(pins: readonly string[], name: string): string[] {
  if (pins.includes(name)) return pins.filter((pin) => pin !== name);
  return [...pins, name].slice(-MOST_PINS);
}
