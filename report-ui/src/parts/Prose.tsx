/** Sentences for people, in which backquotes set off commands. */
import type { JSX } from "preact";
import { unbroken } from "../format";

export function Prose({ words }: { words: string }): JSX.Element {
  const pieces = words.split(/`([^`]+)`/);
  return <>{pieces.map((piece, place) => (place % 2 === 1 ? <code key={place}>{piece}</code> : unbroken(piece)))}</>;
}
