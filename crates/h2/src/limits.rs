//! What a peer may ask of us for nothing: the means by which one connection of HTTP/2 can keep a machine busy, each bounded
//! by a name.

/// What a connection refuses to exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a header block as it is sent, over all its frames.
    pub block_bytes: usize,
    /// Frames of a header block: without that, empty CONTINUATION frames would be endless (CVE-2024-27316).
    pub block_frames: u32,
    /// Bytes of a list of fields, uncompressed: a small block can stand for a large list (an HPACK bomb).
    pub list_bytes: usize,
    /// Frames in a row that bring no request, answer or body any further: SETTINGS, PING, PRIORITY, WINDOW_UPDATE, empty DATA
    /// (CVE-2019-9511 to CVE-2019-9518).
    pub idle_frames: u32,
    /// Answers that the peer has asked for and has not taken: to SETTINGS, to PING, to what spoils one stream (CVE-2019-9512,
    /// CVE-2019-9515). Whoever asks for them between frames that bring something exceeds no other limit.
    pub owed_frames: u32,
    /// Streams that a peer resets beyond those that were answered (rapid reset, CVE-2023-44487).
    pub resets: u32,
}

impl Limits {
    /// 64 KiB of head, compressed or not, in 32 frames; 10,000 idle frames, and as many answers owed; 1,000 resets.
    pub const DEFAULT: Self = Self {
        block_bytes: 64 << 10,
        block_frames: 32,
        list_bytes: 64 << 10,
        idle_frames: 10_000,
        owed_frames: 10_000,
        resets: 1_000,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
