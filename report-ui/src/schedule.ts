/**
 * Drawing in the order of need: what is on the screen or near it at once, from above, before the browser shows anything; the
 * rest one by one when the browser has nothing better to do, or comes near; and everything before it is printed.
 */

/** How near, in pixels. */
const NEAR = 500;
const jobs = new Map<Element, () => void>();
let observer: IntersectionObserver | undefined;
const asked = { now: false, idle: false };

/** Does a job when its place comes near the screen, or when there is time; the function returned calls it off. */
export function whenNeeded(place: Element, job: () => void): () => void {
  observer ??= watch();
  jobs.set(place, job);
  observer.observe(place);
  now();
  whenIdle();
  return () => callOff(place);
}

function watch(): IntersectionObserver {
  addEventListener("beforeprint", () => [...jobs.keys()].forEach(perform));
  return new IntersectionObserver((seen) => seen.filter((one) => one.isIntersecting).forEach((one) => perform(one.target)), { rootMargin: `${NEAR}px` });
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

/** One after the other, as each moves what is below it; as microtasks, so that it is done when the page is said to be loaded. */
function now(): void {
  if (asked.now) return;
  asked.now = true;
  queueMicrotask(() => {
    asked.now = false;
    const next = uppermostNear();
    if (!next) return;
    perform(next);
    now();
  });
}

function uppermostNear(): Element | undefined {
  const waiting = [...jobs.keys()].map((place) => ({ place, box: place.getBoundingClientRect() }));
  const near = waiting.filter(({ box }) => box.top < innerHeight + NEAR && box.bottom > -NEAR);
  return near.sort((one, other) => one.box.top - other.box.top)[0]?.place;
}

function whenIdle(): void {
  if (asked.idle || jobs.size === 0) return;
  asked.idle = true;
  // Safari has no idle callbacks.
  const ask = globalThis.requestIdleCallback ?? ((work: () => void) => setTimeout(work, 30));
  ask(() => {
    asked.idle = false;
    const next = jobs.keys().next();
    if (!next.done) perform(next.value);
    whenIdle();
  });
}
