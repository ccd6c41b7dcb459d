//! The places at which a rule was broken, and what is said of them.

use assay_model::JsonSchema;
use assay_model::experiment::{Cell, Protocol};
use assay_model::network::Network;
use assay_model::setting::Setting;
use serde::Serialize;

/// Places of a warning that are told one by one; of more only the number, and where most of them are.
const PLACES_AT_MOST: usize = 6;

/// Where a rule was broken.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Place")]
pub struct NotePlace {
    /// Name of the contender.
    pub contender: String,
    /// Name of the workload.
    pub workload: String,
    /// Numbers of connections.
    pub connections: Vec<u32>,
    /// The TCP and the wire; absent where the experiment names no network.
    pub network: Option<Network>,
    /// What is spoken.
    pub protocol: Protocol,
    /// Whether the figures there are others than those that are told.
    #[serde(skip)]
    pub(crate) has_other_figures: bool,
}

impl NotePlace {
    /// A contender in a cell, where the figures are those that are told.
    pub(crate) fn of(contender: &str, cell: &Cell) -> Self {
        Self {
            contender: contender.to_owned(),
            workload: cell.workload.clone(),
            connections: vec![cell.connections],
            network: cell.network,
            protocol: cell.protocol,
            has_other_figures: false,
        }
    }

    fn setting(&self) -> Setting {
        Setting { network: self.network, protocol: self.protocol }
    }

    /// Whether both are of one contender, workload and setting, whatever the number of connections.
    fn is_beside(&self, other: &Self) -> bool {
        self.contender == other.contender
            && self.workload == other.workload
            && self.setting() == other.setting()
    }
}

/// Adds to the place that differs in nothing but the number of connections, if there is one.
pub(crate) fn add_place(places: &mut Vec<NotePlace>, place: NotePlace) {
    let is_known = |known: &&mut NotePlace| {
        known.has_other_figures == place.has_other_figures && known.is_beside(&place)
    };
    match places.iter_mut().find(is_known) {
        Some(known) => {
            let new = place.connections.into_iter().filter(|n| !known.connections.contains(n));
            let new: Vec<u32> = new.collect();
            known.connections.extend(new);
        }
        None => places.push(place),
    }
}

/// Puts the places whose figures are told before the others. One that has a rate and a capacity may have both, and is told once.
pub(crate) fn told_first(places: &mut Vec<NotePlace>) {
    let (mut others, told): (Vec<NotePlace>, Vec<NotePlace>) =
        std::mem::take(places).into_iter().partition(|place| place.has_other_figures);
    for other in &mut others {
        for known in &told {
            if known.is_beside(other) {
                other.connections.retain(|n| !known.connections.contains(n));
            }
        }
    }
    others.retain(|other| !other.connections.is_empty());
    places.extend(told.into_iter().chain(others));
}

/// Places for a screen: many fold to `in 12 of 40 places, most on json (8); all with -v`.
pub(crate) fn places_in_short(places: &[NotePlace], judged: usize) -> String {
    let all = hits(places.iter());
    if all <= PLACES_AT_MOST {
        return places_in_words(places);
    }
    let (others, told): (Vec<&NotePlace>, Vec<&NotePlace>) =
        places.iter().partition(|place| place.has_other_figures);
    // A place that has a rate and a capacity may be told of both.
    let judged = judged.max(all);
    let few = hits(told.iter().copied()) <= PLACES_AT_MOST;
    let told = if few { listed(&told) } else { counted(&told, judged) };
    format!("{}; all with -v", beside(told, &others, |others| counted(others, judged)))
}

/// The places of a warning in words, each fact once: `nginx, gin (hello, json at 16, 64 on kernel/veth; byte at 16)`.
pub(crate) fn places_in_words(places: &[NotePlace]) -> String {
    let (others, told): (Vec<&NotePlace>, Vec<&NotePlace>) =
        places.iter().partition(|place| place.has_other_figures);
    beside(listed(&told), &others, listed)
}

/// The places of the figures that are told, and those that have others: `gin (json at 64); with other figures: nginx (json at 64)`.
fn beside(told: String, others: &[&NotePlace], words: impl Fn(&[&NotePlace]) -> String) -> String {
    if others.is_empty() {
        return told;
    }
    let told = if told.is_empty() { told } else { format!("{told}; ") };
    format!("{told}with other figures: {}", words(others))
}

/// How many figures there are: each number of connections has its own.
fn hits<'p>(places: impl Iterator<Item = &'p NotePlace>) -> usize {
    places.map(|place| place.connections.len()).sum()
}

/// The number of places, and where most of them are: `in 12 of 40 places, most on json (8)`.
fn counted(places: &[&NotePlace], judged: usize) -> String {
    let of = |is: &dyn Fn(&&NotePlace) -> bool| hits(places.iter().copied().filter(|place| is(place)));
    let all = of(&|_| true);
    let on =
        |place: &NotePlace| (of(&|other| other.workload == place.workload), format!("on {}", place.workload));
    let with = |place: &NotePlace| {
        (of(&|other| other.contender == place.contender), format!("with {}", place.contender))
    };
    let groups = places.iter().copied().flat_map(|place| [on(place), with(place)]);
    let most = groups.filter(|(n, _)| *n < all && n * 2 > all).max_by_key(|(n, _)| *n);
    let most = most.map_or_else(String::new, |(n, what)| format!(", most {what} ({n})"));
    format!("in {all} of {judged} places{most}")
}

/// Each place, and what several share once.
fn listed(places: &[&NotePlace]) -> String {
    let mut by_contender: Vec<(&str, Vec<&NotePlace>)> = Vec::new();
    places.iter().for_each(|place| add_to(&mut by_contender, place.contender.as_str(), *place));
    let mut by_cells: Vec<(String, Vec<&str>)> = Vec::new();
    for (name, places) in by_contender {
        add_to(&mut by_cells, cells_in_words(&places), name);
    }
    let told = by_cells.iter().map(|(cells, names)| format!("{} ({cells})", names.join(", ")));
    told.collect::<Vec<_>>().join(", ")
}

/// Of one contender: workloads that share numbers of connections and settings together.
fn cells_in_words(places: &[&NotePlace]) -> String {
    let mut settings: Vec<((&str, String), Vec<String>)> = Vec::new();
    for place in places {
        let levels: Vec<String> = place.connections.iter().map(u32::to_string).collect();
        let setting = place.setting();
        let named = if setting == Setting::USUAL { String::new() } else { setting.to_string() };
        add_to(&mut settings, (place.workload.as_str(), levels.join(", ")), named);
    }
    let mut workloads: Vec<((String, String), Vec<&str>)> = Vec::new();
    for ((workload, levels), mut settings) in settings {
        // Beside another the usual one has a name.
        let usual = Setting::USUAL.to_string();
        let is_one_of_several = settings.len() > 1;
        settings
            .iter_mut()
            .filter(|name| name.is_empty() && is_one_of_several)
            .for_each(|name| name.clone_from(&usual));
        add_to(&mut workloads, (levels, settings.join(", ")), workload);
    }
    let told = workloads.iter().map(|((levels, settings), workloads)| {
        let on = if settings.is_empty() { String::new() } else { format!(" on {settings}") };
        format!("{} at {levels}{on}", workloads.join(", "))
    });
    told.collect::<Vec<_>>().join("; ")
}

/// Adds to the group of a key, which stands where it was first met.
fn add_to<K: PartialEq, V>(groups: &mut Vec<(K, Vec<V>)>, key: K, value: V) {
    match groups.iter_mut().find(|(known, _)| *known == key) {
        Some((_, values)) => values.push(value),
        None => groups.push((key, vec![value])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_places_fold_to_their_number_and_where_most_are() {
        let place = |contender: &str, workload: &str, levels: &[u32]| NotePlace {
            contender: contender.to_owned(),
            workload: workload.to_owned(),
            connections: levels.to_vec(),
            network: None,
            protocol: Protocol::H1,
            has_other_figures: false,
        };
        let few = [place("a", "x", &[16, 64]), place("b", "x", &[16, 64, 256])];
        assert_eq!(places_in_short(&few, 40), places_in_words(&few));
        let many = ["a", "b", "c"].map(|name| place(name, "json", &[16, 64, 256]));
        assert_eq!(
            places_in_short(&many, 40),
            "in 9 of 40 places; all with -v",
            "all of them say nothing of any"
        );
        let more = [&many[..], &[place("a", "x", &[16])]].concat();
        assert_eq!(places_in_short(&more, 40), "in 10 of 40 places, most on json (9); all with -v");
        let whose = ["x", "y", "z", "w"].map(|workload| place("a", workload, &[16, 64]));
        let whose = [&whose[..], &[place("b", "x", &[16])]].concat();
        assert_eq!(places_in_short(&whose, 40), "in 9 of 40 places, most with a (8); all with -v");
    }

    #[test]
    fn places_with_other_figures_stand_behind_those_that_are_told() {
        let place = |contender: &str, connections: u32, has_other_figures| NotePlace {
            has_other_figures,
            ..NotePlace::of(contender, &Cell::closed("json", connections))
        };
        let mut places = Vec::new();
        for (contender, connections, is_other) in
            [("b", 16, true), ("a", 64, false), ("a", 64, true), ("a", 16, true), ("b", 64, true)]
        {
            add_place(&mut places, place(contender, connections, is_other));
        }
        told_first(&mut places);
        let told = "a (json at 64); with other figures: b (json at 16, 64), a (json at 16)";
        assert_eq!(places_in_words(&places), told, "a place is told once");
        assert_eq!(places_in_short(&places, 40), told, "few are told one by one");
        (0..5).for_each(|connections| add_place(&mut places, place("b", connections, true)));
        assert_eq!(
            places_in_short(&places, 40),
            "a (json at 64); with other figures: in 8 of 40 places, most with b (7); all with -v"
        );
        assert_eq!(
            places_in_short(&places[1..], 40),
            "with other figures: in 8 of 40 places, most with b (7); all with -v"
        );
    }

    #[test]
    fn the_places_of_a_warning_are_told_once_each() {
        let place = |contender: &str, workload: &str, network: &str| NotePlace {
            contender: contender.to_owned(),
            workload: workload.to_owned(),
            connections: vec![16, 64],
            network: network.parse().ok(),
            protocol: Protocol::H1,
            has_other_figures: false,
        };
        let both =
            |name: &str, workload: &str| ["kernel/veth", "user/xdp"].map(|on| place(name, workload, on));
        let mut places = [both("a", "x"), both("a", "y"), both("b", "x"), both("b", "y")].concat();
        assert_eq!(places_in_words(&places), "a, b (x, y at 16, 64 on kernel/veth, user/xdp)");
        places.push(place("c", "x", ""));
        places.push(place("c", "y", "user/xdp"));
        assert_eq!(
            places_in_words(&places[6..]),
            "b (y at 16, 64 on kernel/veth, user/xdp), c (x at 16, 64; y at 16, 64 on user/xdp)"
        );
    }
}
