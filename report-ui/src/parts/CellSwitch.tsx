/** Chooses what the charts show: a workload and a number of connections. */
import type { JSX } from "preact";
import { withWorkload, type Cells, type View } from "../state";

interface Props {
  cells: readonly Cells[];
  view: View;
  onChange: (view: View) => void;
}

export function CellSwitch({ cells, view, onChange }: Props): JSX.Element {
  const levels = cells.find((cell) => cell.workload === view.workload)?.connections ?? [];
  return (
    <form class="switch" aria-label="What the charts show">
      <Choice
        legend="workload"
        options={cells.map((cell) => cell.workload)}
        chosen={view.workload}
        onChoose={(workload) => onChange(withWorkload(view, workload, cells))}
      />
      <Choice
        legend="connections"
        options={levels.map(String)}
        chosen={String(view.connections)}
        onChoose={(level) => onChange({ ...view, connections: Number(level) })}
      />
    </form>
  );
}

interface ChoiceProps {
  legend: string;
  options: readonly string[];
  chosen: string;
  onChoose: (option: string) => void;
}

function Choice({ legend, options, chosen, onChoose }: ChoiceProps): JSX.Element {
  return (
    <fieldset>
      <legend>{legend}</legend>
      {options.map((option) => (
        <label key={option}>
          <input type="radio" name={legend} value={option} checked={option === chosen} onChange={() => onChoose(option)} />
          <span>{option}</span>
        </label>
      ))}
    </fieldset>
  );
}
