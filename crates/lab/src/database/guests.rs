//! Servers that were written for the TechEmpower toolset: they know by heart at which port, as whom and with which password to
//! ask their database, and only its host is theirs to be told.
//!
//! So a cluster for them listens at that port, on a loopback address of its own, which leaves a database of the user's on
//! 127.0.0.1 alone. Their password is public; whoever has it may read and write the two tables while the run lasts, no more.

use std::net::{IpAddr, Ipv4Addr};

use postgres::{Client, Error};

/// The port in the source's configurations, PostgreSQL's usual one.
pub(super) const PORT: u16 = 5432;

/// A role that may do what the tests ask for (`toolset/databases/postgres/create-postgres-database.sql` of the source names it).
const ROLE: &str = "
    CREATE ROLE benchmarkdbuser LOGIN PASSWORD 'benchmarkdbpass';
    GRANT SELECT, INSERT, UPDATE, DELETE ON world, fortune TO benchmarkdbuser;";

/// Lets the guests' role in.
pub(super) fn admit(client: &mut Client) -> Result<(), Error> {
    client.batch_execute(ROLE)
}

/// An address of the loopback interface (RFC 1122 §3.2.1.3 gives it all of 127.0.0.0/8) that follows from `number`, and is not
/// in 127.0.0.0/16, where people and distributions have theirs.
pub(super) fn address(number: u32) -> IpAddr {
    let [_, b, c, d] = number.to_be_bytes();
    IpAddr::V4(Ipv4Addr::new(127, b.max(1), c, d.clamp(1, 254)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_of_the_loopback_interface_and_not_the_usual_ones() {
        for number in [0, 1, u32::MAX, 0x1234_5678] {
            let IpAddr::V4(address) = address(number) else { panic!("IPv4") };
            let [_, b, _, d] = address.octets();
            assert!(address.is_loopback() && b > 0 && d > 0 && d < 255, "{address}");
        }
    }
}
