//! A network interface of the kernel, in the network namespace that this thread is in (netdevice(7)).

use std::ffi::CString;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};

use nix::ifaddrs::getifaddrs;
use rustix::net::{AddressFamily, SocketFlags, SocketType};

/// What the kernel says of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its number.
    pub index: u32,
    /// Bytes of an IP packet at most.
    pub mtu: usize,
    /// Whether it is up.
    pub is_up: bool,
    /// Driver of the interface; empty when it does not tell.
    pub driver: String,
    /// Hardware address of the interface.
    pub hardware: [u8; 6],
    /// IP addresses of the interface, each with the bits that its network shares.
    pub addresses: Vec<(IpAddr, u8)>,
}

impl Interface {
    /// Asks the kernel.
    ///
    /// # Errors
    /// There is no interface of that name, or it is not Ethernet.
    pub fn of(name: &str) -> io::Result<Self> {
        let socket = configuration()?;
        let index = rustix::net::netdevice::name_to_index(&socket, name)?;
        let mut request = request(name)?;
        control(socket.as_fd(), libc::SIOCGIFMTU as libc::Ioctl, &mut request)?;
        // SAFETY: the kernel has written this field of the union.
        let mtu = unsafe { request.ifr_ifru.ifru_mtu };
        control(socket.as_fd(), libc::SIOCGIFHWADDR as libc::Ioctl, &mut request)?;
        // SAFETY: the kernel has written this field of the union.
        let hardware = unsafe { request.ifr_ifru.ifru_hwaddr };
        if hardware.sa_family != libc::ARPHRD_ETHER {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "no Ethernet device"));
        }
        let mut octets = [0; 6];
        octets.iter_mut().zip(hardware.sa_data).for_each(|(octet, raw)| *octet = raw as u8);
        control(socket.as_fd(), libc::SIOCGIFFLAGS as libc::Ioctl, &mut request)?;
        // SAFETY: the kernel has written this field of the union.
        let flags = libc::c_int::from(unsafe { request.ifr_ifru.ifru_flags });
        Ok(Self {
            name: name.to_owned(),
            index,
            mtu: usize::try_from(mtu).unwrap_or_default(),
            is_up: flags & libc::IFF_UP != 0,
            driver: driver(socket.as_fd(), name)?,
            hardware: octets,
            addresses: addresses(name)?,
        })
    }
}

/// The IP addresses of an interface, but for those that IPv6 makes by itself on every link (RFC 4291 §2.5.6).
fn addresses(name: &str) -> io::Result<Vec<(IpAddr, u8)>> {
    let of_it = getifaddrs()?.filter(|entry| entry.interface_name == name);
    let found = of_it.filter_map(|entry| {
        let (address, mask) = (entry.address?, entry.netmask?);
        if let (Some(ip), Some(mask)) = (address.as_sockaddr_in(), mask.as_sockaddr_in()) {
            return Some((ip.ip().into(), mask.ip().to_bits().leading_ones() as u8));
        }
        let (ip, mask) = (address.as_sockaddr_in6()?, mask.as_sockaddr_in6()?);
        let of_link = ip.ip().is_unicast_link_local();
        (!of_link).then(|| (ip.ip().into(), mask.ip().to_bits().leading_ones() as u8))
    });
    Ok(found.collect())
}

/// Commands of linux/ethtool.h.
const ETHTOOL_GDRVINFO: u32 = 0x03;
const ETHTOOL_STXCSUM: u32 = 0x17;
const ETHTOOL_STSO: u32 = 0x1f;
const ETHTOOL_SGSO: u32 = 0x24;

/// The driver's name; empty when the device has none that tells.
fn driver(socket: BorrowedFd<'_>, name: &str) -> io::Result<String> {
    /// `struct ethtool_drvinfo`, of which we need the beginning.
    #[repr(C)]
    struct DriverInfo {
        command: u32,
        driver: [u8; 32],
        rest: [u8; 160],
    }
    let mut info = DriverInfo { command: ETHTOOL_GDRVINFO, driver: [0; 32], rest: [0; 160] };
    let mut request = request(name)?;
    request.ifr_ifru.ifru_data = (&raw mut info).cast();
    match control(socket, libc::SIOCETHTOOL as libc::Ioctl, &mut request) {
        Ok(()) => {
            Ok(info.driver.iter().take_while(|byte| **byte != 0).map(|byte| char::from(*byte)).collect())
        }
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(String::new()),
        Err(error) => Err(error),
    }
}

/// Lets the kernel compute checksums and cut segments itself before it gives frames to the device.
pub(crate) fn forbid_offloads(name: &str) -> io::Result<()> {
    /// `struct ethtool_value`.
    #[repr(C)]
    struct Value {
        command: u32,
        data: u32,
    }
    let socket = configuration()?;
    for command in [ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_STXCSUM] {
        let mut value = Value { command, data: 0 };
        let mut request = request(name)?;
        request.ifr_ifru.ifru_data = (&raw mut value).cast();
        control(socket.as_fd(), libc::SIOCETHTOOL as libc::Ioctl, &mut request)?;
    }
    Ok(())
}

/// A socket to configure interfaces by.
pub(crate) fn configuration() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC;
    Ok(rustix::net::socket_with(AddressFamily::INET, SocketType::DGRAM, flags, None)?)
}

/// A request about an interface, otherwise empty.
pub(crate) fn request(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: a structure of integers and pointers, for which zero is valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    let name = CString::new(name)?;
    let bytes = name.as_bytes_with_nul();
    if bytes.len() > request.ifr_name.len() || bytes.len() == 1 {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the name of an interface has 1 to 15 bytes",
        ));
    }
    request.ifr_name.iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte as libc::c_char);
    Ok(request)
}

/// Asks or orders something of an interface (netdevice(7), tun.rst).
pub(crate) fn control(
    file: BorrowedFd<'_>,
    command: libc::Ioctl,
    request: &mut libc::ifreq,
) -> io::Result<()> {
    // SAFETY: every command of ours takes an `ifreq`, which the kernel reads and writes during the call. A pointer in it is
    // to memory that lives as long.
    match unsafe { libc::ioctl(file.as_raw_fd(), command, request as *mut libc::ifreq) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_ethernet_device_is_refused() {
        assert_eq!(Interface::of("lo").expect_err("loopback").kind(), io::ErrorKind::Unsupported);
        let absent = Interface::of("no-such-device").expect_err("absent");
        assert_eq!(absent.raw_os_error(), Some(libc::ENODEV));
        for name in ["", "a-name-that-is-too-long", "nul\0"] {
            assert!(request(name).is_err(), "{name}");
        }
    }

    #[test]
    fn addresses_come_with_their_prefix() {
        let loopback = addresses("lo").expect("addresses");
        assert!(loopback.contains(&(std::net::Ipv4Addr::LOCALHOST.into(), 8)), "{loopback:?}");
    }
}
