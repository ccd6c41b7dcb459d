/** Words for what the record has by name; those of words.json are the crate's own (a test of crates/report compares them). */
import { capitalised } from "./format";
import type { NotRun, RedlineStanding, Standing } from "./types";
import words from "./words.json";

export const LIMITED_BY: Readonly<Record<Standing["limited_by"], string>> = words.limited_by;

/** What kept a contender from running. */
export const STAGES: Readonly<Record<NotRun["stage"], string>> = words.stage;

/** How the search for a redline ended; nothing where it found one. */
export const REDLINE_ENDS: Readonly<Record<RedlineStanding["end"], string>> = words.redline_end;

/** `generator-headroom` is `Generator headroom`, `tcp` is `TCP`. */
export function ruleInWords(rule: string): string {
  const spaced = rule.replaceAll("-", " ").replace(/\b(tcp|cpu)\b/g, (name) => name.toUpperCase());
  return capitalised(spaced);
}
