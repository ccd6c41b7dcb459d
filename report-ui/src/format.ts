/**
 * Numbers for people, by the rules of crates/report/src/format.rs; both pass crates/report/tests/format_cases.json.
 *
 * Three significant digits with at most two decimals, in the largest unit in which the value is at least 1, or, for
 * durations, at least one half. An interval shows as many decimals as its half-width needs to be visible.
 */
import type { Interval, Money } from "./types";

interface Scale {
  units: readonly (readonly [factor: number, symbol: string])[];
  least: number;
  decimals: (scaled: number) => number;
}

const RATE: Scale = { units: [[1, ""], [1e3, "k"], [1e6, "M"], [1e9, "G"]], least: 1, decimals: threeDigits };
const DURATION: Scale = {
  units: [[1, " ns"], [1e3, " µs"], [1e6, " ms"], [1e9, " s"]],
  least: 0.5,
  decimals: threeDigits,
};
const ENERGY: Scale = {
  units: [[1e-3, " nJ"], [1, " µJ"], [1e3, " mJ"], [1e6, " J"], [1e9, " kJ"]],
  least: 1,
  decimals: threeDigits,
};
const BYTES: Scale = {
  units: [[1, " B"], [1e3, " kB"], [1e6, " MB"], [1e9, " GB"], [1e12, " TB"]],
  least: 1,
  decimals: twoDigits,
};
const PERCENT: Scale = { units: [[0.01, " %"]], least: 0, decimals: percentDigits };
/** The share from which a percentage has too many digits. */
const MOST_SHARE = 10;

/** A throughput, without its unit: `78.0k`. */
export const rate = (perSecond: number): string => (perSecond === 0 ? "0" : one(RATE, perSecond));
/** A span from nanoseconds to minutes, given in nanoseconds: `0.75 ms`. */
export const duration = (ns: number): string => one(DURATION, ns);
/** A figure that may be a lower bound: `> 5.00 s`. */
export const bounded = (figure: string, isBound: boolean): string => `${isBound ? "> " : ""}${figure}`;
/** A span that may be a lower bound: `> 5.00 s`. */
export const boundedDuration = (ns: number, isBound: boolean): string => bounded(duration(ns), isBound);
/** An amount of energy, given in microjoules: `312 µJ`. */
export const energy = (uj: number): string => one(ENERGY, uj);
/** A size in powers of ten: `9.1 MB`. */
export const bytes = (size: number): string => one(BYTES, size);
/** A quotient: `1.27×`. */
export const ratio = (quotient: number): string => `${quotient.toFixed(threeDigits(quotient))}×`;
/**
 * A share as a percentage: 0.863 is `86 %`; from a thousand per cent on as a quotient, which is easier to grasp: `34.4×`. What is not
 * nothing is never told as nothing: `below 0.01 %`.
 */
export const percent = (share: number): string => {
  if (share === 0) return "0 %";
  const told = share >= MOST_SHARE ? ratio(share) : one(PERCENT, share);
  return told === "0.00 %" ? "below 0.01 %" : told;
};
/** A share of all, as a percentage: what is not all is never told as all: 0.9987 is `99.87 %`. */
export const percentOfAll = (share: number): string => {
  const told = percent(share);
  return told === "100 %" && share < 1 ? `${(Math.floor(share * 1e4) / 1e2).toFixed(2)} %` : told;
};
/** A difference as a share, with its sign: 0.023 is `+2.3 %`; of next to nothing only how little it is: `below 0.01 %`. */
export const signedPercent = (share: number): string => {
  const size = percent(Math.abs(share));
  return size.startsWith("below") ? size : (share < 0 ? "−" : "+") + size;
};
/** The percentile that a share stands for: 0.9995 is `99.95`; one below a hundred is never told as a hundred. */
export const percentile = (share: number): string => String(+(share * 100).toFixed(percentileDecimals(1 - share)));
/** A whole number with separators between thousands. */
export const count = (number: number): string => String(number).replace(/\B(?=(\d{3})+$)/g, ",");

/** A small number, of which the first two digits matter: `0.012`, `2.0`. */
export function few(value: number): string {
  if (value === 0) return "0";
  return value < 9.95 ? value.toPrecision(2) : value.toFixed(0);
}

/** A quotient of which the first two digits matter: `1.3×`. */
export const fewTimes = (quotient: number): string => `${few(quotient)}×`;

/** System calls for an answer; of a stack that works in rounds hardly any are left: `< 0.001`. */
export const callsPerAnswer = (calls: number): string => (calls > 0 && calls < 0.001 ? "< 0.001" : few(calls));

/** A number to three digits, without zeros that say nothing: `0.0123`, `9.1`, `1230`. */
export const significant = (value: number): string => String(+value.toPrecision(3));

/** A size in the unit that stands in its column's head: `9.14`. */
export const megabytes = (size: number): string => significant(size / 1e6);

/** A whole number of which two digits are all that it is worth: `12,000`. */
export const roughly = (value: number): string => count(Number(value.toPrecision(2)));

/** An amount of money to three digits, however small: `0.000111 EUR`. */
export function money({ amount: { estimate }, currency }: Money): string {
  const magnitude = Math.floor(Math.log10(Math.max(Math.abs(estimate), Number.MIN_VALUE)));
  const digits = estimate.toFixed(Math.min(Math.max(2 - magnitude, 0), 12));
  return currency === "" ? digits : `${digits} ${currency}`;
}

/** Rules kept of those that apply: `62/67`. */
export const score = (of: { kept: number; applicable: number }): string => `${of.kept}/${of.applicable}`;

/** A long span, given in nanoseconds: `3 min 14 s`. */
export function span(ns: number): string {
  const seconds = Math.floor(ns / 1e9);
  if (ns === 0) return "0 s";
  if (seconds < 10) return `${(ns / 1e9).toFixed(1)} s`;
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor(seconds / 60) % 60} min`;
}

export const capitalised = (sentence: string): string => sentence.charAt(0).toUpperCase() + sentence.slice(1);

/** Names as a sentence has them: `a, b and c`. */
export function listed(names: readonly string[]): string {
  const before = names.slice(0, -1).join(", ");
  return before === "" ? (names[0] ?? "") : `${before} and ${names.at(-1)}`;
}

/** Words in which no line break parts a figure from its unit or its error: `86 %`, `1.26 ± 0.01`. */
export const unbroken = (words: string): string =>
  words.replace(/(?<=\d) (?=[±%×]|[nµm]?s\b|[kMGT]?B\b)/g, "\u00a0").replace(/± (?=\d)/g, "±\u00a0");

/** `20 November 2026, 22:07 UTC`; text that is no such time stays as it is. */
export function readableTime(rfc3339: string): string {
  const time = new Date(rfc3339);
  if (Number.isNaN(time.getTime())) return rfc3339;
  const text = time.toLocaleString("en-GB", { day: "numeric", month: "long", year: "numeric", hour: "2-digit", minute: "2-digit", timeZone: "UTC" });
  return `${text.replace(" at ", ", ")} UTC`;
}

/** A figure for an axis, where ticks are round: `20.0k` is `20k`. */
export const tick = (text: string): string => text.replace(/(\.\d*?)0+(?!\d)/, "$1").replace(/\.(?!\d)/, "");

/** A rate for an axis; nothing where three digits cannot tell it: its neighbour would have the same label. */
export const rateTick = (perSecond: number): string => (Number(perSecond.toPrecision(3)) === perSecond ? tick(rate(perSecond)) : "");

/** An estimate and its interval, with equal decimals. */
export interface Estimate {
  estimate: string;
  interval: string;
}

/** A figure that has no interval. */
export const exactly = (value: number): Interval => ({ estimate: value, low: value, high: value, confidence: 0 });

/** A throughput with its interval: `78.0k`, `[77.1k … 78.9k]`. */
export function rateInterval(perSecond: Interval): Estimate {
  const [estimate, low, high] = three(RATE, perSecond);
  return { estimate, interval: brackets(perSecond, low, high) };
}
/** An amount of energy in microjoules with its interval: `[305 … 319 µJ]`. */
export const energyInterval = (uj: Interval): Estimate => unitOnce(ENERGY, uj);
/** A duration in nanoseconds with its interval: `[0.74 … 0.78 ms]`. */
export const durationInterval = (ns: Interval): Estimate => unitOnce(DURATION, ns);
/** A difference of durations in nanoseconds with its interval, in the unit of the greatest of the three: `+61.2 µs`. */
export function addedDuration(ns: Interval): Estimate {
  const ends = [ns.estimate, ns.low, ns.high];
  const [factor, symbol] = unitOf(DURATION, Math.max(...ends.map(Math.abs)));
  const decimals = symbol === " ns" ? 0 : intervalDecimals(DURATION, ns, factor);
  const [estimate, low, high] = ends.map((end) => signed(end / factor, decimals));
  return { estimate: `${estimate}${symbol}`, interval: ns.confidence <= 0 ? "–" : `[${low} … ${high}${symbol}]` };
}
/** With a real minus sign, and no sign for nothing. */
function signed(value: number, decimals: number): string {
  const digits = Math.abs(value).toFixed(decimals);
  if (!/[1-9]/.test(digits)) return digits;
  return value < 0 ? `−${digits}` : `+${digits}`;
}
/** The interval of a quotient: `[1.26× … 1.28×]`. */
export const ratioInterval = ({ low, high }: Pick<Interval, "low" | "high">): string => `[${ratio(low)} … ${ratio(high)}]`;
/** The interval of a quotient close to 1, in thousandths: `[1.004 … 1.012]`. */
export const fineRatioInterval = ({ low, high }: Pick<Interval, "low" | "high">): string => `[${low.toFixed(3)} … ${high.toFixed(3)}]`;
/** A share with its interval: `[85 … 87 %]`; where its ends are a thousand per cent or more, as quotients. */
export function percentInterval(share: Interval): Estimate {
  if (share.high < MOST_SHARE) {
    const told = unitOnce(PERCENT, share);
    return isTooWide(share) ? { ...told, interval: brackets(share, "", "") } : told;
  }
  const digits = threeDigits(share.estimate);
  const interval = brackets(share, share.low.toFixed(digits), share.high.toFixed(digits));
  return { estimate: ratio(share.estimate), interval };
}

function one(scale: Scale, value: number): string {
  const [factor, symbol] = unitOf(scale, value);
  const scaled = value / factor;
  const whole = symbol === " ns" || symbol === " B";
  return scaled.toFixed(whole ? 0 : scale.decimals(scaled)) + symbol;
}

function three(scale: Scale, of: Interval): [string, string, string] {
  const [factor, symbol] = unitOf(scale, of.estimate);
  const decimals = intervalDecimals(scale, of, factor);
  const text = (value: number): string => (value / factor).toFixed(decimals) + symbol;
  return [text(of.estimate), text(of.low), text(of.high)];
}

function unitOnce(scale: Scale, of: Interval): Estimate {
  const [factor, symbol] = unitOf(scale, of.estimate);
  const [estimate, low, high] = three(scale, of).map(withMinus) as [string, string, string];
  // So many of a unit are told in the next one.
  if (of.high / factor >= 1000 && unitOf(scale, of.high)[0] > factor) return { estimate, interval: wholeBrackets(of, one(scale, of.low), one(scale, of.high)) };
  return { estimate, interval: wholeBrackets(of, low.slice(0, low.length - symbol.length), high) };
}

/** A figure with a real minus sign, and no sign for nothing. */
const withMinus = (text: string): string => text.replace(/^-/, /[1-9]/.test(text) ? "−" : "");

/** `[low … high]` of a ratio or a rate, unless it is too wide to say anything. */
const brackets = (of: Interval, low: string, high: string): string =>
  of.confidence > 0 && isTooWide(of) ? "[too wide]" : wholeBrackets(of, low, high);

/** `[low … high]` of what may be nothing or less, or a dash for an interval that covers nothing: a single round has an estimate and no more. */
const wholeBrackets = (of: Interval, low: string, high: string): string => (of.confidence <= 0 ? "–" : `[${low} … ${high}]`);

/** Beyond this ratio of its ends the interval of a ratio or a rate only says that there were too few rounds. */
const TOO_WIDE = 10;

/** Whether the interval of a ratio or a rate says nothing but that there were too few rounds. */
export const isTooWide = (of: Interval): boolean => of.low > 0 && of.high > TOO_WIDE * of.low;

/** How far apart the ends of an interval may be that are the same figure: sums of doubles are rounded at the sixteenth digit. */
const ROUNDED_SHARE = 1e-9;

function intervalDecimals(scale: Scale, of: Interval, factor: number): number {
  const usual = scale.decimals(of.estimate / factor);
  const halfWidth = (of.high - of.low) / 2;
  const rounded = ROUNDED_SHARE * Math.max(Math.abs(of.low), Math.abs(of.high));
  if (!(halfWidth > rounded) || !Number.isFinite(halfWidth)) return usual;
  const needed = Math.max(0, -Math.floor(Math.log10(halfWidth / factor)));
  // Whoever reads thousands has digits enough.
  const most = Math.abs(of.estimate) / factor >= 1000 ? usual : usual + 2;
  return Math.min(Math.max(needed, usual), most);
}

function unitOf(scale: Scale, value: number): readonly [number, string] {
  const fits = ([factor]: readonly [number, string]): boolean =>
    Math.round((Math.abs(value) / factor) * 1000) / 1000 >= scale.least;
  return scale.units.findLast(fits) ?? scale.units[0] ?? [1, ""];
}

function threeDigits(value: number): number {
  const size = Math.abs(value);
  return size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
}

function twoDigits(value: number): number {
  return Math.abs(value) < 9.95 ? 1 : 0;
}

function percentDigits(value: number): number {
  return Math.abs(value) < 0.995 ? 2 : twoDigits(value);
}

/** The least distance of a percentile from 100: a double has no more digits. */
const LEAST_PERCENT = 1e-12;

/** Decimals that tell a percentile from 100, two digits of its distance, and at least three. */
function percentileDecimals(beyond: number): number {
  return Math.max(3, 1 - Math.floor(Math.log10(Math.max(beyond * 100, LEAST_PERCENT))));
}
