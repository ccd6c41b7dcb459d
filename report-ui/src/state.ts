/** What the reader looks at, kept in the address's fragment so that a link shows the same. */

export interface View {
  workload: string;
  connections: number;
}

/** The cells one can look at. */
export interface Cells {
  workload: string;
  connections: number[];
}

export function parseView(fragment: string, cells: readonly Cells[]): View {
  const wanted = new URLSearchParams(fragment.replace(/^#/, ""));
  const cell = cells.find((cell) => cell.workload === wanted.get("workload")) ?? cells[0];
  const levels = cell?.connections ?? [];
  const asked = Number(wanted.get("connections"));
  const middle = levels[Math.floor(levels.length / 2)] ?? 0;
  return { workload: cell?.workload ?? "", connections: levels.includes(asked) ? asked : middle };
}

export function fragmentOf(view: View): string {
  return `#${new URLSearchParams({ workload: view.workload, connections: String(view.connections) })}`;
}

/** The view after another workload was chosen: at the same number of connections if it has that. */
export function withWorkload(view: View, workload: string, cells: readonly Cells[]): View {
  return parseView(fragmentOf({ ...view, workload }), cells);
}
