/** A page that is served while its run goes on: what it is sent, and what becomes of it at the end. */
import { open, type Source } from "./data";

/** What the page says of the run that it follows. */
export type Live =
  | { state: "following"; words: string }
  | { state: "lost" }
  /** The report as a file, exactly as it lies in the run's folder. */
  | { state: "over"; saved: string };

/** As crates/report/src/html.rs writes it. */
interface Update {
  title: string;
  /** The text of the element that holds the data. */
  data: string;
  saved?: string;
}

interface Follower {
  /** Takes what is new. */
  show: (source: Source) => void;
  say: (live: Live) => void;
}

/** Where the news of this page are; nothing when it is a file, saved while its run went on. */
export function newsOf(page: Document, protocol: string): string | undefined {
  const told = page.getElementById("assay-live")?.textContent;
  return told && protocol.startsWith("http") ? (JSON.parse(told) as string) : undefined;
}

/** Follows the run until it is over. The document is kept such that saving it keeps what is shown. */
export function follow(page: Document, news: EventSource, { show, say }: Follower): void {
  let words = "";
  const take = (event: MessageEvent<string>): void => {
    const { title, data, saved } = JSON.parse(event.data) as Update;
    const source = open(data);
    page.title = title;
    keep(page, data);
    show(source);
    if (saved === undefined) return;
    release(page);
    say({ state: "over", saved });
  };
  news.addEventListener("open", () => say({ state: "following", words }));
  news.addEventListener("words", (event: MessageEvent<string>) => say({ state: "following", words: (words = event.data) }));
  news.addEventListener("edition", take);
  news.addEventListener("end", (event: MessageEvent<string>) => {
    news.close();
    take(event);
  });
  // The browser tries again by itself.
  news.addEventListener("error", () => news.readyState === EventSource.CLOSED || say({ state: "lost" }));
}

function keep(page: Document, data: string): void {
  const place = page.getElementById("assay-data");
  if (place) place.textContent = data;
}

/** Takes away what only a page that is served needs. */
function release(page: Document): void {
  page.getElementById("assay-live")?.remove();
  const policy = page.querySelector('meta[http-equiv="Content-Security-Policy"]');
  policy?.setAttribute("content", policy.getAttribute("content")?.replace("connect-src 'self'; ", "") ?? "");
}
