//! Handshakes under way, in the order in which they began, so that old ones can be forgotten.

/// Handshakes that may begin before one that is still under way is forgotten. It succeeds all the same, by its
/// [cookie](crate::cookies); more of them would drive what is in use out of the processor's caches when a flood comes.
pub(crate) const MAX_HALF_OPEN: usize = 1024;

/// The last [`MAX_HALF_OPEN`] handshakes: their endpoints, with the serials of their connections.
#[derive(Default)]
pub(crate) struct Handshakes {
    ring: Vec<(u32, u32)>,
    /// Where the next one goes.
    next: usize,
}

impl Handshakes {
    /// A handshake begins. Returns the one that is now too old, whether it is over or not.
    pub(crate) fn push(&mut self, index: u32, serial: u32) -> Option<(u32, u32)> {
        let place = self.next;
        self.next = (place + 1) % MAX_HALF_OPEN;
        match self.ring.get_mut(place) {
            Some(entry) => Some(std::mem::replace(entry, (index, serial))),
            None => {
                self.ring.push((index, serial));
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_makes_room() {
        let mut handshakes = Handshakes::default();
        for n in 0..3 * MAX_HALF_OPEN as u32 {
            let oldest = n.checked_sub(MAX_HALF_OPEN as u32).map(|oldest| (oldest, 7));
            assert_eq!(handshakes.push(n, 7), oldest);
        }
    }
}
