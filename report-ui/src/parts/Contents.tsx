/** Links to the sections. They move there without touching the fragment, which holds what the reader looks at. */
import type { JSX } from "preact";

export function Contents({ sections }: { sections: readonly { id: string; title: string }[] }): JSX.Element {
  const go = (event: Event, id: string): void => {
    event.preventDefault();
    const section = document.getElementById(id);
    section?.scrollIntoView();
    section?.focus({ preventScroll: true });
  };
  return (
    <nav aria-label="Sections">
      <ul>
        {sections.map(({ id, title }) => (
          <li key={id}>
            <a href={`#${id}`} onClick={(event) => go(event, id)}>
              {title}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}
