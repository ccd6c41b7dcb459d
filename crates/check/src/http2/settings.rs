//! Settings (RFC 9113 §6.5).

use assay_h2::Code::{FlowControlError, FrameSizeError, ProtocolError};
use assay_h2::frame::{Kind, MAX_31};
use assay_model::conformance::Severity::Must;

use super::demands::{ends, passes_over};
use super::windows::first_data;
use crate::objection::Keeping;
use crate::origin::Origin;
use crate::peer::frame::{ACK, Frame, settings};
use crate::peer::{ENABLE_PUSH, FRAME_SIZE, INITIAL_WINDOW, TABLE_BYTES};
use crate::rule::Rule;

const CONCURRENT_STREAMS: u16 = 3;
const LIST_BYTES: u16 = 6;

pub(super) const RULES: &[Rule] = &[
    Rule::of_http2(
        "h2-settings-unknown",
        Must,
        "RFC 9113 §6.5.2",
        "A setting that is not known is ignored.",
        |origin| passes_over(origin, &[settings(&[(0xff, 1)])]),
    ),
    Rule::of_http2(
        "h2-settings-unknown-many",
        Must,
        "RFC 9113 §6.5.2",
        "Twenty settings that are not known are ignored, and one among them that is known counts.",
        |origin| {
            let mut all: Vec<(u16, u32)> = (0..20).map(|n| (0xf000 + n, u32::MAX)).collect();
            all[10] = (INITIAL_WINDOW, 1);
            first_data(origin, &all, 1)
        },
    ),
    Rule::of_http2(
        "h2-settings-in-order",
        Must,
        "RFC 9113 §6.5.3",
        "Of a setting that is told twice in one frame the last value counts.",
        |origin| first_data(origin, &[(INITIAL_WINDOW, 100), (INITIAL_WINDOW, 1)], 1),
    ),
    Rule::of_http2(
        "h2-settings-extremes",
        Must,
        "RFC 9113 §6.5.2",
        "The highest values that settings may have are taken.",
        |origin| {
            let highest = [
                (TABLE_BYTES, u32::MAX),
                (ENABLE_PUSH, 0),
                (CONCURRENT_STREAMS, u32::MAX),
                (INITIAL_WINDOW, MAX_31),
                (FRAME_SIZE, (1 << 24) - 1),
                (LIST_BYTES, u32::MAX),
            ];
            let mut peer = origin.open()?;
            peer.tell(&highest)?;
            origin.serves(&mut peer, 1)
        },
    ),
    Rule::of_http2(
        "h2-settings-no-streams",
        Must,
        "RFC 9113 §6.5.2",
        "A client that takes no streams of the server's, and no push, may ask.",
        |origin| passes_over(origin, &[settings(&[(CONCURRENT_STREAMS, 0), (ENABLE_PUSH, 0)])]),
    ),
    Rule::of_http2(
        "h2-settings-ack-with-payload",
        Must,
        "RFC 9113 §6.5",
        "An acknowledgement of SETTINGS with a payload ends the connection (FRAME_SIZE_ERROR).",
        |origin| {
            let frame = settings(&[(ENABLE_PUSH, 0)]).with_flags(ACK);
            ends(origin, &[frame], &[FrameSizeError])
        },
    ),
    Rule::of_http2(
        "h2-settings-on-stream",
        Must,
        "RFC 9113 §6.5",
        "SETTINGS on a stream end the connection (PROTOCOL_ERROR).",
        |origin| ends(origin, &[Frame::new(Kind::Settings, 0, 1, &[])], &[ProtocolError]),
    ),
    Rule::of_http2(
        "h2-settings-length",
        Must,
        "RFC 9113 §6.5",
        "SETTINGS whose length is no multiple of six end the connection (FRAME_SIZE_ERROR).",
        |origin| ends(origin, &[Frame::new(Kind::Settings, 0, 0, &[0, 3, 0, 0, 0])], &[FrameSizeError]),
    ),
    Rule::of_http2(
        "h2-settings-push",
        Must,
        "RFC 9113 §6.5.2",
        "SETTINGS_ENABLE_PUSH other than 0 and 1 ends the connection (PROTOCOL_ERROR).",
        |origin| ends(origin, &[settings(&[(ENABLE_PUSH, 2)])], &[ProtocolError]),
    ),
    Rule::of_http2(
        "h2-settings-window",
        Must,
        "RFC 9113 §6.5.2",
        "SETTINGS_INITIAL_WINDOW_SIZE above 2^31-1 ends the connection (FLOW_CONTROL_ERROR).",
        |origin| ends(origin, &[settings(&[(INITIAL_WINDOW, 1 << 31)])], &[FlowControlError]),
    ),
    Rule::of_http2(
        "h2-settings-frame-size-low",
        Must,
        "RFC 9113 §6.5.2",
        "SETTINGS_MAX_FRAME_SIZE below 16,384 ends the connection (PROTOCOL_ERROR).",
        |origin| ends(origin, &[settings(&[(FRAME_SIZE, 16_383)])], &[ProtocolError]),
    ),
    Rule::of_http2(
        "h2-settings-frame-size-high",
        Must,
        "RFC 9113 §6.5.2",
        "SETTINGS_MAX_FRAME_SIZE above 2^24-1 ends the connection (PROTOCOL_ERROR).",
        |origin| ends(origin, &[settings(&[(FRAME_SIZE, 1 << 24)])], &[ProtocolError]),
    ),
    Rule::of_http2(
        "h2-settings-second-wrong",
        Must,
        "RFC 9113 §6.5.2",
        "A wrong value ends the connection although a right one of the same setting follows.",
        |origin| {
            let frame = settings(&[(INITIAL_WINDOW, 1 << 31), (INITIAL_WINDOW, 100)]);
            ends(origin, &[frame], &[FlowControlError])
        },
    ),
    Rule::of_http2(
        "h2-settings-between-requests",
        Must,
        "RFC 9113 §6.5",
        "SETTINGS may be told again at any time.",
        settings_between,
    ),
];

fn settings_between(origin: &Origin) -> Keeping {
    let mut peer = origin.open()?;
    [1, 3, 5].into_iter().try_for_each(|stream| {
        peer.send(&[settings(&[(INITIAL_WINDOW, MAX_31 - stream)])])?;
        origin.serves(&mut peer, stream)
    })
}
