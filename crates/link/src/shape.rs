//! The token bucket filter that gives a link its rate (tc-tbf(8); kernel: net/sched/sch_tbf.c).
//!
//! It stands before both ports of the bridge in the middle, so each direction has the whole rate, as on a full-duplex cable.
//! It charges what a frame is long on the wire, Ethernet header included.

use std::io;

use assay_model::link::LinkShape;
use netlink_packet_core::{DefaultNla, NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcOption, TcStats2};

use crate::netlink::Netlink;

/// How much time's worth of bytes may pass at once after a pause. A longer burst would hide the rate from short answers.
const BURST_PER_SECOND: u64 = 1_000;
/// Smallest bucket: several packets of an Ethernet frame's length.
const MIN_BURST_BYTES: u64 = 16 << 10;
/// Bytes that wait in each direction before frames are lost. So long that the senders' own limits hold first (TCP's windows and
/// its limit of what one connection may have queued, `tcp_limit_output_bytes`; of AF_XDP the ring and its socket's buffer),
/// as in front of a network card: what is measured is the rate, not how a stack copes with losses.
const QUEUE_BYTES: u32 = 64 << 20;

/// Attributes of the filter (kernel: include/uapi/linux/pkt_sched.h).
const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_RATE64: u16 = 4;
const TCA_TBF_BURST: u16 = 6;
/// Packets are charged by their length, without the cells of ATM.
const TC_LINKLAYER_ETHERNET: u8 = 1;
const QDISC: &str = "tbf";

/// The shape of a link that carries so much in each direction.
pub(crate) fn shape(bits_per_second: u64) -> LinkShape {
    let burst = (bits_per_second / 8 / BURST_PER_SECOND).max(MIN_BURST_BYTES);
    LinkShape {
        bits_per_second,
        burst_bytes: u32::try_from(burst).unwrap_or(u32::MAX),
        queue_bytes: QUEUE_BYTES,
    }
}

/// Puts the filter before a device.
pub(crate) fn put(netlink: &Netlink, device_index: u32, shape: &LinkShape) -> io::Result<()> {
    let mut message = before(device_index);
    message.attributes.push(TcAttribute::Kind(QDISC.to_owned()));
    let options = options(shape).into_iter().map(TcOption::Other);
    message.attributes.push(TcAttribute::Options(options.collect()));
    netlink.ask(RouteNetlinkMessage::NewQueueDiscipline(message), NLM_F_CREATE | NLM_F_EXCL).map(drop)
}

/// Takes it away, with all that waits before it.
pub(crate) fn remove(netlink: &Netlink, device_index: u32) -> io::Result<()> {
    netlink.ask(RouteNetlinkMessage::DelQueueDiscipline(before(device_index)), 0).map(drop)
}

fn before(device_index: u32) -> TcMessage {
    let mut message = TcMessage::with_index(device_index.cast_signed());
    message.header.handle = TcHandle { major: 1, minor: 0 };
    message.header.parent = TcHandle::ROOT;
    message
}

/// Frames that were lost because too many waited, by device.
pub(crate) fn overflowed(netlink: &Netlink, devices: [u32; 2]) -> io::Result<[u64; 2]> {
    let answers = netlink.dump(RouteNetlinkMessage::GetQueueDiscipline(TcMessage::default()))?;
    let filters = answers.iter().filter_map(|answer| match answer {
        RouteNetlinkMessage::NewQueueDiscipline(message) => Some((message.header.index, drops(message)?)),
        _ => None,
    });
    let filters: Vec<(i32, u64)> = filters.collect();
    let lost_its_shape = || io::Error::other("the link has lost its shape");
    let of = |device: u32| {
        let found = filters.iter().find(|(index, _)| *index == device.cast_signed());
        found.map(|(_, drops)| *drops).ok_or_else(lost_its_shape)
    };
    Ok([of(devices[0])?, of(devices[1])?])
}

fn drops(message: &TcMessage) -> Option<u64> {
    if !message.attributes.contains(&TcAttribute::Kind(QDISC.to_owned())) {
        return None;
    }
    let statistics = message.attributes.iter().filter_map(|attribute| match attribute {
        TcAttribute::Stats2(statistics) => Some(statistics),
        _ => None,
    });
    statistics.flatten().find_map(|statistic| match statistic {
        TcStats2::Queue(queue) => Some(u64::from(queue.drops)),
        _ => None,
    })
}

/// The filter's options: `struct tc_tbf_qopt`, the rate again where it does not fit into it, the bucket in bytes.
pub(crate) fn options(shape: &LinkShape) -> Vec<DefaultNla> {
    let bytes_per_second = shape.bits_per_second / 8;
    let short = u32::try_from(bytes_per_second).unwrap_or(u32::MAX);
    let mut parameters = Vec::with_capacity(36);
    parameters.extend(rate_specification(short));
    // No peak rate.
    parameters.extend([0; 12]);
    parameters.extend(shape.queue_bytes.to_ne_bytes());
    // The bucket in ticks and the peak's packet size, for which there are the attribute below and no peak.
    parameters.extend([0; 8]);
    let burst = DefaultNla::new(TCA_TBF_BURST, shape.burst_bytes.to_ne_bytes().to_vec());
    let mut options = vec![DefaultNla::new(TCA_TBF_PARMS, parameters), burst];
    if u64::from(short) != bytes_per_second {
        options.push(DefaultNla::new(TCA_TBF_RATE64, bytes_per_second.to_ne_bytes().to_vec()));
    }
    options
}

/// `struct tc_ratespec`: cell, link layer, overhead, alignment, smallest packet, bytes per second.
fn rate_specification(bytes_per_second: u32) -> impl Iterator<Item = u8> {
    [0, TC_LINKLAYER_ETHERNET, 0, 0, 0, 0, 0, 0].into_iter().chain(bytes_per_second.to_ne_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use netlink_packet_core::Nla;

    #[test]
    fn a_millisecond_fits_into_the_bucket_or_a_few_packets() {
        assert_eq!(shape(1_000_000_000).burst_bytes, 125_000);
        assert_eq!(shape(10_000_000).burst_bytes, 16 << 10);
    }

    #[test]
    fn options_have_the_kernels_layout() {
        let options = options(&shape(1_000_000_000));
        let kinds: Vec<(u16, usize)> = options.iter().map(|nla| (nla.kind(), nla.value_len())).collect();
        assert_eq!(kinds, [(TCA_TBF_PARMS, 36), (TCA_TBF_BURST, 4)]);
        let mut bytes = [0; 36];
        options[0].emit_value(&mut bytes);
        assert_eq!(bytes[1], TC_LINKLAYER_ETHERNET);
        assert_eq!(bytes[8..12], 125_000_000_u32.to_ne_bytes());
        assert_eq!(bytes[24..28], QUEUE_BYTES.to_ne_bytes());
    }

    #[test]
    fn rates_beyond_32_bits_have_an_attribute_of_their_own() {
        let options = options(&shape(100_000_000_000));
        let wide = options.iter().find(|nla| nla.kind() == TCA_TBF_RATE64).expect("attribute");
        let mut bytes = [0; 8];
        wide.emit_value(&mut bytes);
        assert_eq!(u64::from_ne_bytes(bytes), 12_500_000_000);
    }
}
