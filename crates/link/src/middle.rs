//! The namespace in the middle: a bridge with a port towards each end, where the rate is held and frames are lost.
//!
//! At the ends it could not be done for everybody: AF_XDP takes and gives its frames past the filters of the device
//! that it is bound to (kernel: networking/af_xdp.rst). Here all frames pass, whosever TCP has sent them.

use std::io;
use std::os::fd::BorrowedFd;

use assay_model::link::LinkShape;
use netlink_packet_route::link::LinkAttribute;
use serde::{Deserialize, Serialize};

use crate::device;
use crate::end::DEVICE;
use crate::loss::PacketLoss;
use crate::netlink::Netlink;
use crate::shape;

/// The ports, by where frames leave by them: to the server, to the generator.
pub(crate) const PORTS: [&str; 2] = ["server0", "generator0"];
const BRIDGE: &str = "bridge0";
/// Settings that keep the bridge from speaking itself: without them every IPv6 device asks who else is there (RFC 4862).
const SILENCE: [&str; 2] = ["all", "default"];

/// The middle, seen from inside.
#[derive(Debug)]
pub(crate) struct Middle {
    netlink: Netlink,
    ports: [u32; 2],
    shape: Option<LinkShape>,
    loss: Option<PacketLoss>,
}

/// What did not arrive, to the server and to the generator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Dropped {
    /// Because it was asked for.
    pub(crate) lost: [u64; 2],
    /// Because the queue before the filter was full, since it was last emptied.
    pub(crate) overflowed: [u64; 2],
}

impl Middle {
    /// Makes it in the caller's namespace, with cables to `server` and `generator`.
    pub(crate) fn make(
        server: BorrowedFd<'_>,
        generator: BorrowedFd<'_>,
        shape: Option<LinkShape>,
        loss_per_million: Option<u32>,
    ) -> io::Result<Self> {
        for scope in SILENCE {
            // A kernel without IPv6 has no such setting, and says nothing anyway.
            let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{scope}/disable_ipv6"), "1");
        }
        let netlink = Netlink::open()?;
        let bridge = device::make_bridge(&netlink, BRIDGE)?;
        let port = |name: &str, space| -> io::Result<u32> {
            device::create_cable(&netlink, name, DEVICE, space, 1)?;
            let port = device::find(&netlink, name)?;
            device::set(&netlink, port.index, LinkAttribute::Controller(bridge.index))?;
            if let Some(shape) = &shape {
                shape::put(&netlink, port.index, shape)?;
            }
            device::set_up(&netlink, port.index)?;
            Ok(port.index)
        };
        let ports = [port(PORTS[0], server)?, port(PORTS[1], generator)?];
        device::set_up(&netlink, bridge.index)?;
        // What leaves by one port has come by the other.
        let [to_server, to_generator] = ports;
        let loss =
            loss_per_million.map(|share| PacketLoss::begin([to_generator, to_server], share)).transpose()?;
        Ok(Self { netlink, ports, shape, loss })
    }

    /// What did not arrive so far.
    pub(crate) fn dropped(&self) -> io::Result<Dropped> {
        let lost = self.loss.as_ref().map(PacketLoss::lost).transpose()?.unwrap_or_default();
        let overflowed = match &self.shape {
            Some(_) => shape::overflowed(&self.netlink, self.ports)?,
            None => [0; 2],
        };
        Ok(Dropped { lost, overflowed })
    }

    /// Throws away what waits before the filters. The kernel lets go of an AF_XDP socket's queue only when the last of its frames
    /// has left, which on a slow link may be long after its process has ended.
    pub(crate) fn empty(&self) -> io::Result<()> {
        let Some(shape) = &self.shape else { return Ok(()) };
        for port in self.ports {
            shape::remove(&self.netlink, port)?;
            shape::put(&self.netlink, port, shape)?;
        }
        Ok(())
    }
}
