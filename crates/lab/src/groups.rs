//! Who lives at once where not all servers of a round can: groups that share one of them, by which the others are compared.
//! Pure: needs and room in, places out (docs/method/carousel.md#groups).

use std::cmp::Reverse;
use std::collections::BTreeSet;

/// What a server takes for as long as it lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Holding {
    /// Memory, in bytes.
    pub memory_bytes: u64,
    /// Connections to the database.
    pub sessions: u64,
}

/// What all servers that live at once may take together; what is absent is not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Room {
    /// Memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// Connections to the database.
    pub sessions: Option<u64>,
}

/// Why a server may be the common one, the best reason first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    /// The others are measured together with it.
    Base,
    /// What the machine can do: shares of it are told of everybody.
    Limit,
    /// A contender among those that are compared.
    #[default]
    Contender,
    /// A control stands for another, and goes when that does.
    Control,
}

/// A server that is to live in a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Need {
    /// What it was seen to take; absent before its first life.
    pub holding: Option<Holding>,
    /// The port that it insists on, if it does.
    pub port: Option<u16>,
    /// Cells in which it takes turns.
    pub cells: usize,
    /// What it is to the others.
    pub role: Role,
}

impl Holding {
    /// The greater of each.
    pub(crate) fn max(self, other: Self) -> Self {
        Self {
            memory_bytes: self.memory_bytes.max(other.memory_bytes),
            sessions: self.sessions.max(other.sessions),
        }
    }
}

impl Room {
    /// Whether there is room for `next` beside those that live. If nothing is known of it, it is taken to need as much as the
    /// greatest of `known`.
    pub(crate) fn admits(&self, living: &[Holding], next: Option<Holding>, known: &[Holding]) -> bool {
        let next = next.unwrap_or_else(|| known.iter().copied().fold(Holding::default(), Holding::max));
        let taken = |of: fn(&Holding) -> u64| living.iter().chain([&next]).map(of).sum::<u64>();
        let fits = |room: Option<u64>, taken: u64| room.is_none_or(|room| taken <= room);
        fits(self.memory_bytes, taken(|of| of.memory_bytes)) && fits(self.sessions, taken(|of| of.sessions))
    }
}

/// The one of `needs` that is to live in every group: nobody else insists on its port, and it takes turns in as many cells as
/// any of those. `None` where everybody's port is another's as well.
///
/// The base of a duet, because the others are measured together with it; else the machine's limit, whose share is told of
/// everybody; else whoever needs the least memory, which leaves most room.
pub(crate) fn common(needs: &[Need]) -> Option<usize> {
    let is_alone_on = |place: usize, port: u16| {
        needs.iter().enumerate().all(|(other, need)| other == place || need.port != Some(port))
    };
    let free = (0..needs.len()).filter(|&place| {
        needs[place].role != Role::Control && needs[place].port.is_none_or(|port| is_alone_on(place, port))
    });
    let cost = |place: &usize| {
        let Need { holding, cells, role, .. } = needs[*place];
        let bytes = holding.map_or(u64::MAX, |holding| holding.memory_bytes);
        (role != Role::Base, Reverse(cells), role, bytes)
    };
    free.min_by_key(cost)
}

/// The groups in which those with `needs` live, by their places, which keep their order: as few as there can be with the first
/// place that has room for each (first fit; Johnson, SIAM J. Comput. 3, 1974). The `common` one lives in all of them. Whoever
/// has no room even beside that one alone lives with it all the same.
pub(crate) fn groups(needs: &[Need], common: Option<usize>, room: &Room) -> Vec<Vec<usize>> {
    let known: Vec<Holding> = needs.iter().filter_map(|need| need.holding).collect();
    let greatest = known.iter().copied().fold(Holding::default(), Holding::max);
    let has_room = |group: &[usize], next: usize| {
        let living: Vec<Holding> =
            group.iter().chain(&common).map(|&place| needs[place].holding.unwrap_or(greatest)).collect();
        let ports: BTreeSet<u16> = group.iter().filter_map(|&place| needs[place].port).collect();
        needs[next].port.is_none_or(|port| !ports.contains(&port))
            && room.admits(&living, needs[next].holding, &known)
    };
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for next in (0..needs.len()).filter(|place| Some(*place) != common) {
        match groups.iter_mut().find(|group| has_room(group, next)) {
            Some(group) => group.push(next),
            None => groups.push(vec![next]),
        }
    }
    if groups.is_empty() && common.is_some() {
        groups.push(Vec::new());
    }
    for group in &mut groups {
        group.extend(common);
        group.sort_unstable();
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn of(mib: u64) -> Need {
        let holding = Some(Holding { memory_bytes: mib * MIB, sessions: 0 });
        Need { holding, cells: 1, ..Need::default() }
    }

    fn memory(mib: u64) -> Room {
        Room { memory_bytes: Some(mib * MIB), sessions: None }
    }

    #[test]
    fn all_live_at_once_where_there_is_room() {
        let needs = [of(10), of(200), of(50)];
        assert_eq!(groups(&needs, Some(0), &memory(260)), [[0, 1, 2]]);
        assert_eq!(groups(&needs, Some(0), &Room::default()), [[0, 1, 2]]);
        assert_eq!(groups(&needs, None, &memory(260)), [[0, 1, 2]]);
        assert_eq!(groups(&needs[..1], Some(0), &memory(1)), [[0]]);
        assert!(groups(&[], None, &memory(1)).is_empty());
    }

    #[test]
    fn groups_are_filled_one_after_the_other_and_share_the_common_one() {
        let needs = [of(100), of(200), of(10), of(80), of(90)];
        assert_eq!(groups(&needs, Some(2), &memory(300)), [vec![0, 2, 3, 4], vec![1, 2]]);
        assert_eq!(groups(&needs, Some(2), &memory(211)), [vec![0, 2, 3], vec![1, 2], vec![2, 4]]);
        assert_eq!(groups(&needs, Some(2), &memory(1)), [[0, 2], [1, 2], [2, 3], [2, 4]]);
    }

    #[test]
    fn of_whom_nothing_is_known_needs_as_much_as_the_greatest() {
        let unknown = Need { holding: None, ..of(0) };
        let needs = [of(10), unknown, of(100), unknown];
        assert_eq!(groups(&needs, Some(0), &memory(220)), [vec![0, 1, 2], vec![0, 3]]);
        assert_eq!(groups(&[unknown; 3], Some(0), &memory(220)), [[0, 1, 2]], "nothing is known of anybody");
    }

    #[test]
    fn two_that_insist_on_a_port_or_on_all_sessions_live_apart() {
        let on = |port| Need { port: Some(port), ..of(1) };
        let needs = [on(8080), of(1), on(8080), on(8081)];
        assert_eq!(common(&needs), Some(1));
        assert_eq!(groups(&needs, Some(1), &Room::default()), [vec![0, 1, 3], vec![1, 2]]);
        assert_eq!(common(&[on(8080), on(8080)]), None);
        let pool = |sessions| Need { holding: Some(Holding { memory_bytes: 0, sessions }), ..of(0) };
        let room = Room { sessions: Some(97), memory_bytes: None };
        assert_eq!(
            groups(&[pool(0), pool(60), pool(50), pool(30)], Some(0), &room),
            [vec![0, 1, 3], vec![0, 2]]
        );
    }

    #[test]
    fn the_common_one_is_the_base_or_the_limit_or_the_smallest_of_those_in_all_cells() {
        let as_a = |role, need: Need| Need { role, ..need };
        let all = [of(50), of(20), as_a(Role::Limit, of(90)), as_a(Role::Control, of(5))];
        assert_eq!(common(&all), Some(2));
        assert_eq!(common(&all[..2]), Some(1));
        let mut based = all;
        based[0].role = Role::Base;
        assert_eq!(common(&based), Some(0));
        let elsewhere = Need { cells: 3, ..of(500) };
        assert_eq!(common(&[of(1), as_a(Role::Limit, of(1)), elsewhere]), Some(2), "it is in all cells");
        assert_eq!(common(&[]), None);
    }
}
