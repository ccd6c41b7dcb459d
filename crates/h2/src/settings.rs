//! Settings (RFC 9113 §6.5): what a peer takes.

use crate::error::{Code, ConnectionError, broken};
use crate::frame::{FRAME_BYTES, Kind, MAX_31, write_head};

/// What one side takes. The default is what holds until it has said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Largest table of its decoder, in bytes.
    pub header_table_bytes: u32,
    /// Whether it may be pushed to.
    pub enable_push: bool,
    /// Streams that the other side may have open at once.
    pub concurrent_streams: u32,
    /// Window that a stream begins with, in bytes.
    pub initial_window: u32,
    /// Longest payload of a frame.
    pub frame_bytes: u32,
    /// Longest list of fields, uncompressed.
    pub header_list_bytes: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            header_table_bytes: 4096,
            enable_push: true,
            concurrent_streams: u32::MAX,
            initial_window: 65_535,
            frame_bytes: FRAME_BYTES as u32,
            header_list_bytes: u32::MAX,
        }
    }
}

impl Settings {
    /// Takes note of the payload of a SETTINGS frame, whose length is a multiple of six.
    ///
    /// # Errors
    /// A value that is none.
    pub(crate) fn apply(&mut self, payload: &[u8]) -> Result<(), ConnectionError> {
        for setting in payload.as_chunks::<6>().0 {
            let [a, b, c, d, e, f] = *setting;
            let value = u32::from_be_bytes([c, d, e, f]);
            match u16::from_be_bytes([a, b]) {
                1 => self.header_table_bytes = value,
                2 if value > 1 => {
                    return Err(broken(Code::ProtocolError, "ENABLE_PUSH is neither 0 nor 1"));
                }
                2 => self.enable_push = value == 1,
                3 => self.concurrent_streams = value,
                4 if value > MAX_31 => {
                    return Err(broken(Code::FlowControlError, "INITIAL_WINDOW_SIZE is above 2^31-1"));
                }
                4 => self.initial_window = value,
                5 if !(FRAME_BYTES as u32..1 << 24).contains(&value) => {
                    return Err(broken(Code::ProtocolError, "MAX_FRAME_SIZE is below 2^14 or above 2^24-1"));
                }
                5 => self.frame_bytes = value,
                6 => self.header_list_bytes = value,
                // RFC 9113 §6.5.2: what is not known is ignored.
                _ => {}
            }
        }
        Ok(())
    }

    /// Appends a SETTINGS frame with what differs from the default.
    pub fn write(&self, out: &mut Vec<u8>) {
        let usual = Self::default();
        let all = [
            (1, self.header_table_bytes, usual.header_table_bytes),
            (2, u32::from(self.enable_push), u32::from(usual.enable_push)),
            (3, self.concurrent_streams, usual.concurrent_streams),
            (4, self.initial_window, usual.initial_window),
            (5, self.frame_bytes, usual.frame_bytes),
            (6, self.header_list_bytes, usual.header_list_bytes),
        ];
        let told = all.iter().filter(|(_, value, usual)| value != usual);
        write_head(Kind::Settings, 0, 0, 6 * told.clone().count(), out);
        for (id, value, _) in told {
            out.extend_from_slice(&u16::to_be_bytes(*id));
            out.extend_from_slice(&value.to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::HEAD_BYTES;

    #[test]
    fn settings_come_back_as_they_were_written() {
        let ours = Settings {
            header_table_bytes: 0,
            enable_push: false,
            concurrent_streams: 100,
            initial_window: MAX_31,
            frame_bytes: 1 << 20,
            header_list_bytes: 1 << 16,
        };
        let (mut out, mut theirs) = (Vec::new(), Settings::default());
        ours.write(&mut out);
        theirs.apply(&out[HEAD_BYTES..]).unwrap();
        assert_eq!((theirs, out.len()), (ours, HEAD_BYTES + 36));
        out.clear();
        Settings::default().write(&mut out);
        assert_eq!(out.len(), HEAD_BYTES);
    }

    #[test]
    fn values_that_are_none_are_refused_with_the_right_code() {
        let apply = |id: u16, value: u32| {
            let setting = [&id.to_be_bytes()[..], &value.to_be_bytes()].concat();
            Settings::default().apply(&setting).map_err(|error| error.code)
        };
        assert_eq!(apply(2, 2), Err(Code::ProtocolError));
        assert_eq!(apply(4, 1 << 31), Err(Code::FlowControlError));
        assert_eq!(apply(5, 16_383), Err(Code::ProtocolError));
        assert_eq!(apply(5, 1 << 24), Err(Code::ProtocolError));
        assert_eq!(apply(0xff, 7), Ok(()));
    }
}
