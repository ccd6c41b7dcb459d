//! Where connections' numbers begin.

use super::*;

#[test]
fn numbers_follow_a_clock_that_each_flow_has_to_itself() {
    let net = Net::new(64 << 20);
    let flow = |port: u16| Flow::new(at(80), ([10, 77, 0, 2], port).into());
    let number = |port, later| net.server.iss(&flow(port), now() + Nanos::from_micros(later));
    // RFC 6528 §3 and RFC 9293 §3.4.1: 4 µs for each number.
    assert_eq!(number(1, 4_000) - number(1, 0), 1_000);
    let mut apart: Vec<u32> =
        (1..1000).map(|port| number(port + 1, 0).0.wrapping_sub(number(port, 0).0)).collect();
    apart.sort_unstable();
    apart.dedup();
    assert_eq!(apart.len(), 999, "one flow's numbers tell nothing of another's");
    let other = Net::new(64 << 20);
    assert_ne!(other.server.iss(&flow(1), now()), number(1, 0), "nor one stack's of another's");
}
