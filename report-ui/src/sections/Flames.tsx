/** A flame graph of one contender, or of one beside another; whoever cannot point walks it by buttons, or reads the table. */
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { flameChart } from "../charts/flame";
import { callAt, foundShare, hottest, pathOf, treeOf, type Call, type Hot } from "../flame";
import { addedDuration, duration, exactly, percent } from "../format";
import { Chart } from "../parts/Chart";
import { Select } from "../parts/Choice";
import { figureColumn } from "../parts/columns";
import { Legend, sortsOf } from "../parts/Legend";
import { Table, type Column } from "../parts/Table";
import { atLoad } from "../state";
import { pageTheme, type Theme } from "../theme";
import type { Flame } from "../types";

/** Functions in the table, and callees that are offered as buttons. */
const MOST_HOT = 60;
const MOST_CALLEES = 8;

const titleOf = ({ contender, offered }: Flame): string => `${contender}, ${atLoad(offered)}`;

export function Flames({ flames }: { flames: readonly Flame[] }): JSX.Element | null {
  const [chosen, choose] = useState("");
  const [against, compare] = useState("");
  const [path, zoom] = useState<readonly string[]>([]);
  const [find, search] = useState("");
  const flame = flames.find((of) => titleOf(of) === chosen) ?? flames[0];
  const base = flames.find((of) => titleOf(of) === against && of !== flame);
  const root = useMemo(() => (flame ? treeOf(flame, base) : null), [flame, base]);
  const other = useMemo(() => (base ? treeOf(base) : undefined), [base]);
  const at = useMemo(() => (root ? callAt(root, path) : null), [root, path]);
  const draw = useMemo(() => {
    const onZoom = (call: Call): void => zoom(namesTo(call));
    return (theme: Theme, width: number) => (root && at ? flameChart({ zoom: at, find, onZoom }, theme, width) : document.createElement("p"));
  }, [root, at, find]);
  if (!flame || !root || !at) return null;
  const options = flames.map((of) => [titleOf(of), titleOf(of)] as const);
  return (
    <div>
      <h3>Which functions</h3>
      <p class="key">
        Each bar is a function with all that it calls, standing on its caller, as wide as its CPU time for an answer. {base && "The fuller its colour, the greater the difference. "}Press a bar to see it alone.
      </p>
      <div class="flames">
        <Select label="functions of" options={options} chosen={titleOf(flame)} onChoose={choose} />
        <Select label="against" options={[["", "nobody"], ...options.filter(([value]) => value !== titleOf(flame))]} chosen={base ? titleOf(base) : ""} onChoose={compare} />
        <label class="select">
          <span>find</span>
          <input type="search" value={find} onInput={(event) => search(event.currentTarget.value)} />
        </label>
        {find !== "" && <output>{percent(foundShare(root, find))} of the time</output>}
      </div>
      <Steps at={at} onZoom={(call) => zoom(namesTo(call))} />
      <Legend entries={base ? differencesFrom(base) : sortsOf(flame.kinds)} />
      <Chart label={`Functions of ${titleOf(flame)}${base ? ` against ${titleOf(base)}` : ""} by CPU time.`} draw={draw} twin={<Table caption={`Functions of ${titleOf(flame)}`} columns={hotColumns(root, base !== undefined)} rows={hottest(root, other).slice(0, MOST_HOT)} />} />
    </div>
  );
}

const differencesFrom = (base: Flame): [color: string, words: string][] => [
  [pageTheme.more, `takes more than in ${titleOf(base)}`],
  [pageTheme.less, "takes less"],
];

/** The names that lead from the root to a call. */
const namesTo = (call: Call): string[] => pathOf(call).slice(1).map(({ name }) => name);

/** Where one is, and where one can go. */
function Steps({ at, onZoom }: { at: Call; onZoom: (call: Call) => void }): JSX.Element {
  const into = [...at.callees].sort((a, b) => b.ns - a.ns).slice(0, MOST_CALLEES);
  const step = (call: Call, text: string): JSX.Element => (
    <button key={namesTo(call).join("\n")} type="button" onClick={() => onZoom(call)}>
      {text}
    </button>
  );
  return (
    <div class="steps" role="group" aria-label="Calls">
      {pathOf(at).map((call, i, all) => (i === all.length - 1 ? <b key="here">{`${call.name} ${duration(call.ns)}`}</b> : step(call, call.name)))}
      {into.length > 0 && <span>calls</span>}
      {into.map((call) => step(call, `${call.name} ${duration(call.ns)}`))}
    </div>
  );
}

function hotColumns(root: Call, isCompared: boolean): Column<Hot>[] {
  const difference = figureColumn<Hot>("difference", ({ own, base }) => own - (base ?? 0), (ns) => addedDuration(exactly(ns)).estimate);
  return [
    { head: "function", text: true, cell: ({ name }) => <code>{name}</code>, sort: ({ name }) => name },
    figureColumn("in itself", ({ own }) => own, duration),
    figureColumn("share", ({ own }) => own, (own) => percent(root.ns > 0 ? own / root.ns : 0)),
    figureColumn("with what it calls", ({ total }) => total, duration),
    ...(isCompared ? [difference] : []),
  ];
}
