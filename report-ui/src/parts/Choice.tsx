/** A choice of one from a few: all are seen, one is pressed. */
import type { JSX } from "preact";
import { useId } from "preact/hooks";

interface Props {
  legend: string;
  options: readonly string[];
  chosen: string;
  onChoose: (option: string) => void;
}

export function Choice({ legend, options, chosen, onChoose }: Props): JSX.Element {
  // Radio buttons of one name exclude each other all over the page, and a legend may stand twice.
  const group = useId();
  return (
    <fieldset class="choice">
      <legend>{legend}</legend>
      {options.map((option) => (
        <label key={option}>
          <input type="radio" name={group} value={option} checked={option === chosen} onChange={() => onChoose(option)} />
          <span>{option}</span>
        </label>
      ))}
    </fieldset>
  );
}

interface SelectProps {
  label: string;
  /** Value and text of each; the first is the one that chooses nothing. */
  options: readonly (readonly [value: string, text: string])[];
  chosen: string;
  onChoose: (value: string) => void;
}

/** A choice of one from many. */
export function Select({ label, options, chosen, onChoose }: SelectProps): JSX.Element {
  return (
    <label class="select">
      <span>{label}</span>
      <select value={chosen} onChange={(event) => onChoose(event.currentTarget.value)}>
        {options.map(([value, text]) => (
          <option key={value} value={value} selected={value === chosen}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
