//! Stacks of a server merged into one tree: the data of a flame graph (Gregg, *The Flame Graph*, ACM Queue 14(2), 2016).

use std::collections::BTreeMap;

use assay_model::JsonSchema;
use assay_model::experiment::Cell;
use assay_model::profile::{Frame, FrameKind, Owner, Sampled};
use assay_model::record::Record;
use serde::Serialize;

/// Share of all samples below which a function with all that it calls is left out: nobody sees a bar that is a pixel wide.
const LEAST_SHARE: f64 = 1e-3;
/// Most bytes that a tree takes as JSON: pages hold many of them.
const MOST_BYTES: usize = 200_000;
/// Deepest call that is drawn; what is called by it counts as its own.
const DEEPEST: usize = 200;

/// Where the CPU time of a contender went under one load, by call: a tree in preorder, in columns of equal length.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Flame {
    /// Name of the contender.
    pub contender: String,
    /// The load, as people write it: `max` for a closed loop.
    pub offered: String,
    /// Restarts that it is the mean of.
    pub restarts: u32,
    /// Functions, each once.
    pub names: Vec<String>,
    /// What sort of code each of these is.
    pub kinds: Vec<FrameKind>,
    /// How many calls lead to each node; the first is the root, with 0.
    pub depth: Vec<usize>,
    /// The function of each node, as its index in `names`.
    pub name: Vec<usize>,
    /// CPU time for each right answer in each node and all that it calls, in nanoseconds.
    pub ns: Vec<f64>,
}

/// The trees of every contender that was profiled in cells that `is_there` chooses, in the record's order.
pub(super) fn flames(record: &Record, is_there: impl Fn(&Cell) -> bool) -> Vec<Flame> {
    let cells = record.experiment.cells().into_iter().filter(|cell| is_there(cell));
    let proper = || record.contenders.iter().filter(|entry| entry.control_of.is_none());
    let of_cell = |cell: Cell| -> Vec<Flame> {
        proper().filter_map(|entry| flame(record, &entry.identity.name, &cell)).collect()
    };
    cells.flat_map(of_cell).collect()
}

fn flame(record: &Record, contender: &str, cell: &Cell) -> Option<Flame> {
    let runs = record.rounds.iter().flat_map(|round| &round.runs).filter(|run| run.contender == contender);
    let profiles = runs.flat_map(|run| &run.profiles).filter(|profile| profile.cell == *cell);
    let told: Vec<(&Sampled, f64)> =
        profiles.filter_map(|profile| Some((&profile.sampled, profile.ns_of_a_sample()?))).collect();
    let mut tree = Tree::default();
    for (sampled, ns) in &told {
        tree.add(sampled, ns / told.len() as f64);
    }
    (!told.is_empty()).then(|| Flame {
        contender: contender.to_owned(),
        offered: cell.offered.to_string(),
        restarts: u32::try_from(told.len()).unwrap_or(u32::MAX),
        ..tree.within(MOST_BYTES)
    })
}

/// Calls from the outermost function inwards.
struct Tree {
    functions: BTreeMap<(String, FrameKind), usize>,
    nodes: Vec<Node>,
}

#[derive(Default)]
struct Node {
    function: usize,
    ns: f64,
    callees: BTreeMap<usize, usize>,
}

impl Default for Tree {
    fn default() -> Self {
        let root = ("all".to_owned(), FrameKind::Unknown);
        Self { functions: BTreeMap::from([(root, 0)]), nodes: vec![Node::default()] }
    }
}

impl Tree {
    fn add(&mut self, sampled: &Sampled, ns_of_a_sample: f64) {
        let own = sampled.stacks.iter().filter(|stack| stack.owner == Owner::Server);
        for stack in own {
            let ns = stack.samples as f64 * ns_of_a_sample;
            let mut at = 0;
            self.nodes[at].ns += ns;
            for frame in stack.frames.iter().rev().take(DEEPEST) {
                at = self.callee(at, sampled.frames.get(*frame as usize));
                self.nodes[at].ns += ns;
            }
        }
    }

    /// The node of a function that another calls.
    fn callee(&mut self, caller: usize, frame: Option<&Frame>) -> usize {
        let next = self.functions.len();
        let function = *self.functions.entry(named(frame)).or_insert(next);
        if let Some(known) = self.nodes[caller].callees.get(&function) {
            return *known;
        }
        let at = self.nodes.len();
        self.nodes.push(Node { function, ..Node::default() });
        self.nodes[caller].callees.insert(function, at);
        at
    }

    /// The nodes that can be seen; where they take more than so many bytes, the widest of them.
    fn within(&self, bytes: usize) -> Flame {
        let mut least = LEAST_SHARE;
        loop {
            let flame = self.flat(least * self.nodes[0].ns);
            // A share of 1 leaves the root, which is all.
            if least >= 1.0 || serde_json::to_string(&flame).is_ok_and(|json| json.len() <= bytes) {
                return flame;
            }
            least *= 2.0;
        }
    }

    /// The nodes that take so much, callers before those they call.
    fn flat(&self, least: f64) -> Flame {
        let mut flame = Flame::default();
        let (mut seen, mut places) = (vec![(0, 0)], BTreeMap::new());
        let mut functions: Vec<(&(String, FrameKind), &usize)> = self.functions.iter().collect();
        functions.sort_by_key(|(_, index)| **index);
        while let Some((at, depth)) = seen.pop() {
            let node = &self.nodes[at];
            let place = *places.entry(node.function).or_insert_with(|| {
                let (name, kind) = functions[node.function].0;
                flame.names.push(name.clone());
                flame.kinds.push(*kind);
                flame.names.len() - 1
            });
            flame.depth.push(depth);
            flame.name.push(place);
            flame.ns.push(node.ns);
            let callees = node.callees.values().rev().filter(|callee| self.nodes[**callee].ns >= least);
            seen.extend(callees.map(|callee| (*callee, depth + 1)));
        }
        flame
    }
}

/// What a function is called; of one without a name, where it is.
fn named(frame: Option<&Frame>) -> (String, FrameKind) {
    let Some(Frame { symbol, module, kind }) = frame else {
        return ("[unknown]".to_owned(), FrameKind::Unknown);
    };
    let place = || module.as_ref().map_or_else(|| "[unknown]".to_owned(), |module| format!("[{module}]"));
    (symbol.clone().unwrap_or_else(place), *kind)
}

#[cfg(test)]
mod tests {
    use assay_model::load::Arrival;
    use assay_model::profile::{CallStack, Profile};
    use assay_model::units::Nanos;
    use assay_model::usage::Usage;
    use assay_verdict::testing;

    use super::*;

    fn profile(stacks: &[(&[u32], u64)]) -> Profile {
        let frame =
            |symbol: &str| Frame { symbol: Some(symbol.to_owned()), module: None, kind: FrameKind::Native };
        let sampled = Sampled {
            answers: 100,
            usage: Usage { user_ns: Nanos(1_000_000), ..Usage::default() },
            frames: ["main", "handle", "write"].map(frame).into(),
            stacks: (stacks.iter())
                .map(|(frames, samples)| CallStack {
                    owner: Owner::Server,
                    thread: 0,
                    frames: frames.to_vec(),
                    samples: *samples,
                })
                .collect(),
            ..Sampled::default()
        };
        Profile {
            cell: Cell::closed("hello", 64),
            arrival: Arrival::Closed,
            offset_ns: Nanos::ZERO,
            sampled,
            traced: None,
            refused: Vec::new(),
        }
    }

    #[test]
    fn stacks_of_all_restarts_become_one_tree_whose_root_is_all_cpu_time() {
        let mut record = testing::record(&[("a", &[1000.0, 1000.0])]);
        let both = [profile(&[(&[2, 1, 0], 30), (&[1, 0], 10)]), profile(&[(&[2, 1, 0], 10), (&[0], 30)])];
        for (round, profile) in record.rounds.iter_mut().zip(both) {
            round.runs[0].profiles = vec![profile];
        }
        let [flame] = flames(&record, |_| true).try_into().expect("one contender at one load");
        assert_eq!((flame.contender.as_str(), flame.offered.as_str(), flame.restarts), ("a", "max", 2));
        let names: Vec<&str> = flame.name.iter().map(|at| flame.names[*at].as_str()).collect();
        assert_eq!(names, ["all", "main", "handle", "write"]);
        assert_eq!(flame.depth, [0, 1, 2, 3]);
        let whole: Vec<u64> = flame.ns.iter().map(|ns| ns.round() as u64).collect();
        assert_eq!(whole, [10_000, 10_000, 6_250, 5_000], "10 µs of an answer; means of two restarts");
    }

    /// Five hundred ways of a hundred calls, all with names as long as they may be.
    #[test]
    fn a_tree_fits_into_its_bytes_whatever_the_server_is_like() {
        let frame = |at: u32| Frame {
            symbol: Some(format!("{at:0>240}")),
            module: Some("server".to_owned()),
            kind: FrameKind::Native,
        };
        let stack = |way: u32| {
            let own = (0..100).map(|depth| 1 + way * 100 + depth);
            CallStack {
                owner: Owner::Server,
                thread: 0,
                frames: own.chain([0]).collect(),
                samples: 1 + u64::from(way % 7),
            }
        };
        let sampled = Sampled {
            frames: (0..=50_000).map(frame).collect(),
            stacks: (0..500).map(stack).collect(),
            ..Sampled::default()
        };
        let mut tree = Tree::default();
        tree.add(&sampled, 1_000.0);
        let all = tree.flat(0.0);
        let drawn = tree.within(MOST_BYTES);
        let bytes = serde_json::to_string(&drawn).expect("JSON").len();
        assert!(bytes <= MOST_BYTES, "{bytes}");
        assert!(
            all.depth.len() > 50_000 && drawn.depth.len() > 1,
            "{} of {}",
            drawn.depth.len(),
            all.depth.len()
        );
        assert_eq!((drawn.ns[0], drawn.depth[1]), (all.ns[0], 1), "all of the time is in the root");
    }

    #[test]
    fn what_nobody_sees_is_left_out_and_a_record_may_say_anything() {
        let mut record = testing::record(&[("a", &[1000.0])]);
        record.rounds[0].runs[0].profiles = vec![profile(&[(&[0], 9_999), (&[1], 1), (&[77], 100)])];
        let [flame] = flames(&record, |_| true).try_into().expect("one");
        let names: Vec<&str> = flame.name.iter().map(|at| flame.names[*at].as_str()).collect();
        assert_eq!(names, ["all", "main", "[unknown]"]);
        record.rounds[0].runs[0].profiles[0].sampled.answers = 0;
        assert!(flames(&record, |_| true).is_empty(), "nothing was answered");
        assert!(flames(&record, |_| false).is_empty());
    }
}
