/** Names and values in two columns; what is not known is left out. */
import type { ComponentChildren, JSX } from "preact";

export type FactRow = [name: string, value: ComponentChildren];

export function Facts({ title, rows }: { title?: string; rows: readonly FactRow[] }): JSX.Element {
  return (
    <div>
      {title && <h3>{title}</h3>}
      <dl class="facts-list">
        {rows.filter(([, value]) => value !== null && value !== undefined && value !== "").map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
