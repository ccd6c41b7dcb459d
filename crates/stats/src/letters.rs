//! Compact letter display: which contenders a measurement cannot tell apart, in a column of letters.

/// The letters of each contender, by its index: two contenders share a letter exactly when they are not
/// `distinct`.
///
/// Insert-and-absorb (Piepho, J. Comput. Graph. Stat. 13:456–466, 2004, without the optional sweep): start
/// with one letter for all; for every distinct pair, split each letter that both carry into two that each
/// lack one of them; drop letters whose carriers all share another. `order` lists every index once, best
/// first, so that the best contender carries `a`. After `z` come `A` to `Z`, then `a2`, `b2` and so on.
pub fn letters(order: &[usize], distinct: impl Fn(usize, usize) -> bool) -> Vec<String> {
    let mut groups = vec![vec![true; order.len()]];
    for (place, &better) in order.iter().enumerate() {
        for (other, &worse) in order.iter().enumerate().skip(place + 1) {
            if distinct(better, worse) {
                groups = absorb(insert(groups, place, other));
            }
        }
    }
    // By descending membership vector: groups that begin with a better contender come first.
    groups.sort_by(|a, b| b.cmp(a));
    let mut letters = vec![String::new(); order.len()];
    for (number, group) in groups.iter().enumerate() {
        let carriers = order.iter().zip(group).filter(|(_, carries)| **carries);
        carriers.for_each(|(&contender, _)| letters[contender].push_str(&letter(number)));
    }
    letters
}

/// A group as one flag for each place in the order.
type Group = Vec<bool>;

/// Splits every group that holds both `a` and `b` into one without `a` and one without `b`.
fn insert(groups: Vec<Group>, a: usize, b: usize) -> Vec<Group> {
    let without = |group: &Group, place: usize| {
        let mut group = group.clone();
        group[place] = false;
        group
    };
    let split = |group: Group| {
        if group[a] && group[b] { vec![without(&group, b), without(&group, a)] } else { vec![group] }
    };
    groups.into_iter().flat_map(split).collect()
}

/// Drops every group whose members are all in another one.
fn absorb(groups: Vec<Group>) -> Vec<Group> {
    let within = |small: &Group, large: &Group| small.iter().zip(large).all(|(s, l)| *l || !*s);
    let mut kept: Vec<Group> = Vec::new();
    for group in groups {
        if !kept.iter().any(|other| within(&group, other)) {
            kept.retain(|other| !within(other, &group));
            kept.push(group);
        }
    }
    kept
}

fn letter(number: usize) -> String {
    let first = if number % 52 < 26 { b'a' } else { b'A' };
    let letter = char::from(first + (number % 26) as u8);
    if number < 52 { letter.to_string() } else { format!("{letter}{}", number / 52 + 1) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn display(count: usize, pairs: &[(usize, usize)]) -> Vec<String> {
        let order: Vec<usize> = (0..count).collect();
        letters(&order, |a, b| pairs.contains(&(a.min(b), a.max(b))))
    }

    /// Examples 1 and 2 of `multcompLetters` in the R package multcompView (Graves, Piepho, Selzer &
    /// Dorai-Raj): A–B and A–C alike, B–C distinct; then a–b, a–c, b–d distinct.
    #[test]
    fn worked_examples_of_multcomp_view() {
        assert_eq!(display(3, &[(1, 2)]), ["ab", "a", "b"]);
        assert_eq!(display(4, &[(0, 1), (0, 2), (1, 3)]), ["a", "b", "bc", "ac"]);
    }

    #[test]
    fn all_alike_share_one_letter_and_all_distinct_share_none() {
        assert_eq!(display(3, &[]), ["a", "a", "a"]);
        assert_eq!(display(3, &[(0, 1), (0, 2), (1, 2)]), ["a", "b", "c"]);
        assert!(display(0, &[]).is_empty());
    }

    #[test]
    fn letters_follow_the_order_not_the_index() {
        assert_eq!(letters(&[2, 0, 1], |a, b| a == 1 || b == 1), ["a", "b", "a"]);
    }

    #[test]
    fn letters_go_on_after_z() {
        assert_eq!([0, 25, 26, 51, 52, 78, 104].map(letter), ["a", "z", "A", "Z", "a2", "A2", "a3"]);
    }

    proptest! {
        #[test]
        fn sharing_a_letter_means_exactly_not_distinct(flags in proptest::collection::vec(any::<bool>(), 28)) {
            let order = [3, 1, 4, 0, 5, 2, 7, 6];
            let distinct = |a: usize, b: usize| flags[a.max(b) * (a.max(b) - 1) / 2 + a.min(b)];
            let letters = letters(&order, distinct);
            for a in 0..8 {
                for b in 0..a {
                    let share = letters[a].chars().any(|l| letters[b].contains(l));
                    prop_assert_eq!(share, !distinct(a, b), "{} {} {:?}", a, b, letters);
                }
            }
        }
    }
}
