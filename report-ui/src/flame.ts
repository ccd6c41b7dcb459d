/** Calls as a tree, for a flame graph and for the table beside it: of one contender, or of one beside another. */
import type { Flame } from "./types";

/** A function as it was called, with all that it calls. */
export interface Call {
  name: string;
  kind: Flame["kinds"][number];
  /** CPU time for each right answer, with what it calls, in nanoseconds. */
  ns: number;
  /** The same of the other contender where it is called by the same functions; null where nobody is compared. */
  base: number | null;
  caller: Call | null;
  callees: Call[];
}

/** One function wherever it is called. */
export interface Hot {
  name: string;
  /** In itself. */
  own: number;
  /** With what it calls, each moment once. */
  total: number;
  /** In itself, of the other contender. */
  base: number | null;
}

/** The tree of a contender; `base` is that of the one with which it is compared. */
export function treeOf(flame: Flame, base?: Flame): Call {
  const root = callsOf(flame);
  if (base) compare(root, callsOf(base));
  return root;
}

function callsOf(flame: Flame): Call {
  const path: Call[] = [];
  flame.depth.forEach((depth, i) => {
    const function_ = flame.name[i] ?? 0;
    const caller = path[depth - 1] ?? null;
    const call: Call = { name: flame.names[function_] ?? "?", kind: flame.kinds[function_] ?? "unknown", ns: flame.ns[i] ?? 0, base: null, caller, callees: [] };
    caller?.callees.push(call);
    path.length = depth;
    path[depth] = call;
  });
  return path[0] ?? { name: "all", kind: "unknown", ns: 0, base: null, caller: null, callees: [] };
}

function compare(call: Call, other: Call | undefined): void {
  call.base = other?.ns ?? 0;
  for (const callee of call.callees) compare(callee, other?.callees.find((of) => of.name === callee.name && of.kind === callee.kind));
}

/** The calls from the outermost to this one. */
export function pathOf(call: Call): Call[] {
  return call.caller ? [...pathOf(call.caller), call] : [call];
}

/** The call that names lead to, as far as they do. */
export function callAt(root: Call, names: readonly string[]): Call {
  const [first, ...rest] = names;
  const callee = root.callees.find(({ name }) => name === first);
  return callee ? callAt(callee, rest) : root;
}

export const matches = (call: Pick<Call, "name">, find: string): boolean => find !== "" && call.name.toLowerCase().includes(find.toLowerCase());

/** Share of a tree's time in functions that match, with what they call: a match within a match counts once. */
export function foundShare(root: Call, find: string): number {
  const found = (call: Call): number => (matches(call, find) ? call.ns : call.callees.reduce((sum, callee) => sum + found(callee), 0));
  return root.ns > 0 ? found(root) / root.ns : 0;
}

/** Every function by the time in itself, the most first. */
export function hottest(root: Call, base?: Call): Hot[] {
  const theirs = base ? new Map(hottest(base).map((hot) => [hot.name, hot.own])) : null;
  const all = new Map<string, Hot>();
  const visit = (call: Call, above: ReadonlySet<string>): void => {
    const hot = all.get(call.name) ?? { name: call.name, own: 0, total: 0, base: theirs ? (theirs.get(call.name) ?? 0) : null };
    hot.own += Math.max(0, call.ns - call.callees.reduce((sum, callee) => sum + callee.ns, 0));
    if (!above.has(call.name)) hot.total += call.ns;
    all.set(call.name, hot);
    const within = new Set([...above, call.name]);
    call.callees.forEach((callee) => visit(callee, within));
  };
  root.callees.forEach((callee) => visit(callee, new Set()));
  return [...all.values()].sort((a, b) => b.own - a.own);
}
