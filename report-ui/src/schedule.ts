/**
 * Drawing in the order of need: what is on the screen or near it at once, the rest one by one when the browser has
 * nothing better to do, and everything before it is printed.
 */

const NEAR = "500px";
const jobs = new Map<Element, () => void>();
let observer: IntersectionObserver | undefined;
let isAsked = false;

/** Does a job when its place comes near the screen, or when there is time; the function returned calls it off. */
export function whenNeeded(place: Element, job: () => void): () => void {
  observer ??= watch();
  jobs.set(place, job);
  observer.observe(place);
  whenIdle();
  return () => callOff(place);
}

function watch(): IntersectionObserver {
  addEventListener("beforeprint", () => [...jobs.keys()].forEach(perform));
  return new IntersectionObserver((seen) => seen.filter((one) => one.isIntersecting).forEach((one) => perform(one.target)), { rootMargin: NEAR });
}

function perform(place: Element): void {
  const job = jobs.get(place);
  callOff(place);
  job?.();
}

function callOff(place: Element): void {
  jobs.delete(place);
  observer?.unobserve(place);
}

function whenIdle(): void {
  if (isAsked || jobs.size === 0) return;
  isAsked = true;
  // Safari has no idle callbacks.
  const ask = globalThis.requestIdleCallback ?? ((work: () => void) => setTimeout(work, 30));
  ask(() => {
    isAsked = false;
    const next = jobs.keys().next();
    if (!next.done) perform(next.value);
    whenIdle();
  });
}
