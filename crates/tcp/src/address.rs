//! Addresses of a stack, as people write them.

use std::fmt::{Display, Formatter};
use std::net::IpAddr;
use std::str::FromStr;

use smoltcp::wire::{EthernetAddress, IpCidr};

/// An address of ours with the length of its network's prefix: `10.77.0.1/24`, `fd77::1/64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    /// The address.
    pub address: IpAddr,
    /// Bits that all addresses on its link share.
    pub prefix: u8,
}

impl Cidr {
    pub(crate) fn to_smoltcp(self) -> IpCidr {
        IpCidr::new(self.address.into(), self.prefix)
    }

    /// Whether `peer` is another address on this link.
    pub(crate) fn reaches(self, peer: IpAddr) -> bool {
        peer != self.address && self.to_smoltcp().contains_addr(&peer.into())
    }
}

impl Display for Cidr {
    fn fmt(&self, out: &mut Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}/{}", self.address, self.prefix)
    }
}

/// Not an address with a prefix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an address with the length of its prefix; write 10.77.0.1/24 or fd77::1/64")]
pub struct BadCidr(String);

impl FromStr for Cidr {
    type Err = BadCidr;

    fn from_str(text: &str) -> Result<Self, BadCidr> {
        let bad = || BadCidr(text.to_owned());
        let (address, prefix) = text.split_once('/').ok_or_else(bad)?;
        let address: IpAddr = address.parse().map_err(|_| bad())?;
        let prefix: u8 = prefix.parse().map_err(|_| bad())?;
        let is_usable = !(address.is_unspecified() || address.is_multicast() || address.is_loopback());
        let longest = if address.is_ipv4() { 32 } else { 128 };
        if is_usable && prefix <= longest { Ok(Self { address, prefix }) } else { Err(bad()) }
    }
}

/// A hardware address for a wire that has none: locally administered (IEEE 802 §8.4), made of an IP address, so that
/// the two ends of a wire differ as their addresses do.
pub fn hardware_for(address: IpAddr) -> [u8; 6] {
    let bytes = match address {
        IpAddr::V4(ip) => ip.octets(),
        IpAddr::V6(ip) => (ip.to_bits() as u32).to_be_bytes(),
    };
    [0x02, 0x77, bytes[0], bytes[1], bytes[2], bytes[3]]
}

/// Whether a device may have this hardware address.
pub(crate) fn is_unicast(hardware: [u8; 6]) -> bool {
    EthernetAddress(hardware).is_unicast()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_with_their_prefix() {
        for text in ["10.77.0.1/24", "fd77::1/64", "192.0.2.7/32"] {
            assert_eq!(text.parse::<Cidr>().unwrap().to_string(), text);
        }
        for wrong in
            ["10.77.0.1", "10.77.0.1/33", "10.77.0/24", "0.0.0.0/0", "127.0.0.1/8", "ff02::1/64", "/"]
        {
            let error = wrong.parse::<Cidr>().unwrap_err().to_string();
            assert!(error.contains("10.77.0.1/24"), "{error}");
        }
    }
}
