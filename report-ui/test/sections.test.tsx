import { render } from "preact";
import type { JSX } from "preact";
import { act } from "preact/test-utils";
import { beforeAll, describe, expect, test } from "vitest";
import { Drawer } from "../src/Drawer";
import { drawnAt } from "../src/parts/Chart";
import { OverTimeSection } from "../src/sections/OverTime";
import { chosenTail, rateOf, RatesSection } from "../src/sections/Rates";
import { RoundsSection } from "../src/sections/Rounds";
import { StandingsSection } from "../src/sections/Standings";
import { WhySection } from "../src/sections/Why";
import type { Cell } from "../src/select";
import type { Explained, LatencyVerdict, Line, Sample } from "../src/types";
import { cellIn, interval, reportOn, spot, standing, withoutLayout } from "./fixtures";

beforeAll(() => {
  withoutLayout();
  HTMLDialogElement.prototype.showModal ??= () => undefined;
});

function drawn(section: JSX.Element): HTMLElement {
  const place = document.createElement("div");
  void act(() => render(section, place));
  return place;
}

const textsOf = (place: Element, selector: string): string[] => [...place.querySelectorAll(selector)].map((one) => one.textContent ?? "");

describe("standings", () => {
  const both = [standing("a", { tier: 1, throughput_per_second: interval(2_000), cpu_per_request_ns: 500 }), standing("b", { tier: 1, throughput_per_second: interval(1_000) })];
  const shown = (standings: Cell["standings"], names = ["a", "b"], fragment = "", notes?: string[]): HTMLElement => {
    const report = reportOn(names, {}, fragment);
    return drawn(<StandingsSection report={report} cell={cellIn(report, { standings, ...(notes ? { notes } : {}) })} />);
  };
  const heads = (place: Element): string[] => textsOf(place, "thead th");

  test("leave out what the record has of nobody", () => {
    expect(heads(shown(both))).toEqual(["contender", "tier", "req/s", "95 % interval", "cpu/req", "limited by"]);
    const single = both.map((one) => ({ ...one, tier: null, throughput_per_second: { ...interval(1_000, 0), confidence: 0 } }));
    expect(heads(shown(single)), "of a single round").toEqual(["contender", "req/s", "cpu/req", "limited by"]);
  });

  test("keep a place for the reason where everything is withheld", () => {
    const place = shown(both.map((one) => ({ ...one, withheld: "void" })));
    expect(heads(place)).toEqual(["contender", "req/s"]);
    expect(textsOf(place, ".across")).toEqual(["withheld: void", "withheld: void"]);
  });

  test("say at which speed of the machine they are", () => {
    expect(shown(both).querySelector(".key")?.textContent).toContain("All are at the machine's usual speed; rounds that do not count are left out.");
  });

  test("print what has to be known beside them, each as a sentence", () => {
    const notes = ["could show differences from 53 %", "measured after 2.10 s to 4.85 s under load, `--age` sets it"];
    const last = [...shown(both, ["a", "b"], "", notes).querySelectorAll(".key")].at(-1);
    expect(last?.innerHTML).toBe("Could show differences from 53&nbsp;%. Measured after 2.10&nbsp;s to 4.85&nbsp;s under load, <code>--age</code> sets it.");
    expect(shown(both).querySelectorAll(".key")).toHaveLength(2);
  });

  test("offer a comparison only where there is one, and name the limit only where it is compared with", () => {
    const first = (place: Element): string | undefined => textsOf(place, ".controls option")[0];
    expect(first(shown(both, ["a", "b", "limit"]))).toBe("the limit");
    expect(first(shown(both, ["a", "b", "limit"], "#metric=cpu"))).toBe("nobody");
    expect(first(shown(both.slice(0, 1)))).toBeUndefined();
  });
});

describe("rounds", () => {
  const report = reportOn(["a", "b"]);
  const sample = (contender: string, round: number, per_second: number, counts: boolean): Sample => ({ contender, counts, offered: "max", offered_per_second: null, offset_ns: round * 1e9, per_second, are_lower_bounds: [], quantiles_ns: [], round, void: counts ? [] : ["steal"] });
  const samples = [sample("a", 0, 900, true), sample("a", 1, 500, false), sample("b", 0, 700, true)];
  const standings = [standing("a", { rounds_per_second: [1_000, 1_100] }), standing("b", { rounds_per_second: [800], withheld: "void" })];

  test("stand as measured, and beside it at the machine's usual speed where they count", () => {
    const place = drawn(<RoundsSection report={report} cell={cellIn(report, { samples, standings })} />);
    open(place);
    expect(textsOf(place, "thead th")).toContain("at usual speed");
    const at = textsOf(place, "thead th").indexOf("at usual speed");
    expect([...place.querySelectorAll("tbody tr")].map((row) => row.children[at]?.textContent)).toEqual(["1.00k", "–", "–"]);
  });

  test("without such figures have no column for them", () => {
    const place = drawn(<RoundsSection report={report} cell={cellIn(report, { samples, standings: [standing("a")] })} />);
    open(place);
    expect(textsOf(place, "thead th")).not.toContain("at usual speed");
  });

  test("say that they are as measured", () => {
    const cell = cellIn(report, { samples, standings });
    for (const section of [<RoundsSection report={report} cell={cell} />, <OverTimeSection report={report} cell={cell} />]) {
      expect(drawn(section).querySelector(".question")?.textContent).toContain("As measured, before the machine's speed is taken out.");
    }
  });

  function open(place: Element): void {
    const twin = place.querySelector("details.twin") as HTMLDetailsElement;
    void act(() => {
      twin.open = true;
      twin.dispatchEvent(new Event("toggle"));
    });
  }
});

describe("latency against load", () => {
  const report = reportOn(["nginx", "node"]);
  const at = (contender: string, offered_per_second: number | null, quantiles: number[], withheld: string | null = null): LatencyVerdict["standings"][number] =>
    ({ contender, offered_per_second, withheld, checks: [], failed: 0, rounds: 3, share_of_capacity: null, quantiles: quantiles.map((quantile) => ({ quantile, response_ns: interval(1e6), is_lower_bound: false })) }) as unknown as LatencyVerdict["standings"][number];
  const verdict = (standings: LatencyVerdict["standings"]): LatencyVerdict[] => [{ workload: "hello", connections: 64, offered: "common", standings } as unknown as LatencyVerdict];
  const shown = (latency: LatencyVerdict[], fragment = ""): HTMLElement => {
    const asked = reportOn(["nginx", "node"], {}, fragment);
    return drawn(<RatesSection report={asked} cell={cellIn(asked, { latency })} />);
  };
  const common = verdict([at("node", 10_012, [0.5, 0.99]), at("nginx", 10_012, [0.5, 0.9])]);

  test("offers the percentiles that can be told, and begins with the highest that most have", () => {
    const place = shown(common);
    expect(textsOf(place, ".choice label")).toEqual(["p50", "p90", "p99"]);
    expect(place.querySelector<HTMLInputElement>("input:checked")?.value).toBe("p50");
    const tails = [["p50", 3], ["p90", 3], ["p99", 2], ["p99.9", 1]].map(([percentile, lines]) => ({ percentile: String(percentile), lines: Array.from({ length: Number(lines) }) }));
    expect(chosenTail(tails, 3, [undefined])?.percentile).toBe("p99");
    expect(chosenTail(tails, 3, ["p77", "p90"])?.percentile).toBe("p90");
  });

  test("names whom a percentile cannot be told for", () => {
    expect(textsOf(shown(common, "#tail=p99"), ".key")).toEqual(["p99 cannot be told for nginx."]);
    expect(textsOf(shown(common), ".key")).toEqual([]);
  });

  test("knows one rate for all from several", () => {
    expect(rateOf(cellIn(report, { latency: common }))).toBe(10_012);
    expect(rateOf(cellIn(report, { latency: verdict([at("node", 10_012, [0.5]), at("nginx", 9_000, [0.5])]) }))).toBeNull();
    expect(shown(common).querySelector(".question")?.textContent).toContain("at 10.0k requests per second offered to each");
  });

  test("has its table even where nothing can be drawn", () => {
    const place = shown(verdict([at("node", 10_012, [0.99], "too many void windows")]));
    expect(place.querySelector(".chart")).toBeNull();
    expect(textsOf(place, ".across")).toEqual(["common, withheld: too many void windows"]);
    const unknown = shown(verdict([at("node", null, [], "no rate is known")]));
    expect(textsOf(unknown, ".across")).toEqual(["common, withheld: no rate is known"]);
  });
});

describe("where the time goes", () => {
  const line = (because: string): Line => ({ name: "own code", base: "1", contender: "2", difference: "+1", interval: "[0 … 2]", because });
  const explained = (lines: Line[]): Explained =>
    ({ ...spot, offered: "max", sentences: [], spendings: [], grounds: [], rules: "", compared: [{ base: "a", contender: "b", lines }], parts: [{ part: "send", name: "TCP send", is_kernel: true }, { part: "jit", name: "compiled at run time", is_kernel: false }] }) as unknown as Explained;
  const shown = (lines: Line[]): HTMLElement => {
    const report = reportOn(["a", "b"], { why: [explained(lines)] });
    return drawn(<WhySection report={report} cell={cellIn(report, {})} />);
  };

  test("has a column for what is done more often only where there is something", () => {
    expect(textsOf(shown([line(""), line("2 calls")]), "thead th")).toContain("for each answer");
    expect(textsOf(shown([line("")]), "thead th")).not.toContain("for each answer");
  });

  test("tells what its colours stand for, of the sorts that there are", () => {
    expect(textsOf(shown([]), ".legend li")).toEqual(["the kernel", "compiled at run time"]);
  });
});

test("a drawer sets the remedy of a warning off from its evidence", () => {
  const places = [{ ...spot, contender: "a", connections: [64] }];
  const warnings = [{ rule: "steal", outcome: "warn", evidence: "see `top`", remedy: "stop `dd`", places }];
  const item = drawn(<Drawer report={reportOn(["a"], { warnings })} name="a" />).querySelector(".plain li");
  expect(item?.innerHTML).toBe('<b>Steal</b>: see <code>top</code><p class="remedy">stop <code>dd</code></p>');
});

test("a chart keeps pace with the size of letters", () => {
  const draw = (_: unknown, width: number): Element => {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    for (const [name, value] of Object.entries({ width, height: 100, viewBox: `0 0 ${width} 100` })) svg.setAttribute(name, String(value));
    return svg;
  };
  const measures = (scale: number): (string | null)[] => ["width", "height", "viewBox"].map((name) => drawnAt(scale, 600, draw).getAttribute(name));
  expect(measures(1)).toEqual(["600", "100", "0 0 600 100"]);
  expect(measures(2)).toEqual(["600", "200", "0 0 300 100"]);
});
