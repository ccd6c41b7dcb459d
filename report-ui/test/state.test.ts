import { describe, expect, test } from "vitest";
import { onSetting } from "../src/select";
import { changed, fragmentOf, legendOf, parseView, settingOf, settingsOf, spotIndex, togglePin, widthsOf, type View } from "../src/state";
import type { Head, Protocol } from "../src/types";

const spot = (workload: string, connections: number, pipeline = 1, network: string | null = null, protocol: Protocol = "h1"): Head["spots"][number] => ({ workload, connections, pipeline, network, protocol });
const contenders = ["nginx", "gin", "node"].map((name) => ({ name })) as Head["contenders"];
const heads = [
  { spots: [spot("hello", 16), spot("hello", 64), spot("hello", 256), spot("json", 64), spot("json", 64, 8)], contenders },
  { spots: [spot("plain", 8)], contenders },
];
const nothing = parseView("", heads);

test("a fragment shows the same to whoever follows it", () => {
  const view: View = { ...nothing, workload: "json", width: "64×8", metric: "p99", baseline: "gin", sort: "-cpu/req", load: "50%", tail: "p99.9", language: "c", kind: "server", link: "veth", find: "n & x", pins: ["gin", "nginx"], open: "node" };
  expect(parseView(fragmentOf(view), heads)).toEqual(view);
  expect(parseView("#run=2", heads)).toMatchObject({ run: 1, workload: "plain", width: "8" });
});

test("only what was chosen stands in it", () => {
  expect(fragmentOf({ ...nothing, workload: "json", width: "64" })).toBe("#workload=json&connections=64");
  expect(fragmentOf({ ...nothing, workload: "json", width: "64×8", pins: ["gin", "node"] })).toBe("#workload=json&connections=64x8&pin=gin,node");
});

test("anything else falls back to the first workload's middle level, and nobody pinned", () => {
  for (const fragment of ["", "#", "#standings", "#workload=none&connections=x", "#connections=7", "#run=9&pin=nobody&show=nobody"]) {
    expect(parseView(fragment, heads)).toEqual({ ...nothing, workload: "hello", width: "64" });
  }
  expect(parseView("", [])).toMatchObject({ workload: "", width: "" });
});

test("another workload or run keeps the number of connections where it can", () => {
  const at = (width: string): View => ({ ...nothing, workload: "hello", width });
  expect(changed(at("64"), { workload: "json" }, heads).width).toBe("64");
  expect(changed(at("256"), { workload: "json" }, heads).width).toBe("64×8");
  expect(changed(at("256"), { run: 1 }, heads)).toMatchObject({ workload: "plain", width: "8" });
});

describe("with several networks", () => {
  const on = (network: string, widths: number[]): Head["spots"] => widths.map((width) => spot("hello", width, 1, network));
  const several = [{ spots: [...on("kernel/veth:1gbit", [8, 64]), ...on("user/xdp", [8, 16, 64])], contenders }];

  test("a place has one, the first unless a link says which", () => {
    expect(parseView("", several)).toMatchObject({ setting: "kernel/veth:1gbit", width: "64" });
    const there = parseView("#workload=hello&connections=16&network=user/xdp", several);
    expect([there.setting, there.width, spotIndex(several[0]?.spots ?? [], there)]).toEqual(["user/xdp", "16", 3]);
    expect(parseView("#network=user/none", several).setting).toBe("kernel/veth:1gbit");
    expect(fragmentOf(parseView("#connections=8", several))).toBe("#workload=hello&connections=8&network=kernel/veth:1gbit");
  });

  test("another network keeps the number of connections where it can", () => {
    const there = parseView("#connections=8&network=user/xdp", several);
    expect(changed(there, { setting: "kernel/veth:1gbit" }, several)).toMatchObject({ setting: "kernel/veth:1gbit", width: "8" });
    expect(changed({ ...there, width: "16" }, { setting: "kernel/veth:1gbit" }, several).width).toBe("64");
    expect(widthsOf(several[0]?.spots ?? [], "hello", "kernel/veth:1gbit")).toEqual(["8", "64"]);
  });

  test("one alone is nothing to choose and nothing to tell", () => {
    const one = [{ spots: on("user/ring", [8, 64]), contenders }];
    expect(settingsOf(one[0]?.spots ?? [])).toEqual([]);
    const view = parseView("#network=user/ring", one);
    expect([fragmentOf(view), spotIndex(one[0]?.spots ?? [], view)]).toEqual(["#workload=hello&connections=64", 1]);
    expect(onSetting({ spots: one[0]?.spots ?? [] }, "user/ring")).toBe("");
    expect(onSetting({ spots: several[0]?.spots ?? [] }, "user/xdp")).toBe(" on user/xdp");
  });
});

describe("with several protocols", () => {
  const over = (protocol: Protocol, network: string | null = null): Head["spots"][number] => spot("hello", 64, 1, network, protocol);
  const both = [{ spots: [over("h1"), over("h1+tls")], contenders }];

  test("a place has one, and a link says which", () => {
    const there = parseView("#network=h1%2Btls", both);
    expect([there.setting, spotIndex(both[0]?.spots ?? [], there)]).toEqual(["h1+tls", 1]);
    expect(parseView("", both).setting).toBe("h1");
    expect(onSetting({ spots: both[0]?.spots ?? [] }, "h1+tls")).toBe(" on h1+tls");
    expect(fragmentOf(there)).toBe("#workload=hello&connections=64&network=h1%2Btls");
  });

  test("the choice is called what it is about", () => {
    expect(legendOf(both[0]?.spots ?? [])).toBe("protocol");
    expect(legendOf([over("h1", "user/ring"), over("h1", "kernel/loopback")])).toBe("network");
    expect(legendOf([over("h1", "user/ring"), over("h1+tls", "kernel/loopback")])).toBe("network and protocol");
    expect(settingOf({ network: "user/ring", protocol: "h1+tls" })).toBe("user/ring over h1+tls");
  });
});

test("at most six are pinned, and the oldest goes first", () => {
  expect(togglePin(["a", "b"], "a")).toEqual(["b"]);
  expect(togglePin(["a", "b", "c", "d", "e", "f"], "g")).toEqual(["b", "c", "d", "e", "f", "g"]);
});
