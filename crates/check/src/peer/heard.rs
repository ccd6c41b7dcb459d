//! What a server says, frame by frame, read strictly: bytes in, frames out.

use assay_h2::Code;
use assay_h2::frame::{FRAME_BYTES, Head, Kind, MAX_31};
use assay_h2::hpack::Decoder;

use super::frame::{ACK, END_HEADERS, END_STREAM, PADDED, PRIORITY, code, number};
use super::{FRAME_SIZE, TABLE_BYTES};

/// More than any list of fields of an answer.
const LIST_BYTES: usize = 1 << 20;
/// More than any field block of one.
const BLOCK_BYTES: usize = 1 << 20;

/// A field, as name and value.
pub(crate) type Field = (Vec<u8>, Vec<u8>);

/// A frame of the server's, or a whole field block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    Settings {
        ack: bool,
    },
    Ping {
        ack: bool,
        opaque: [u8; 8],
    },
    GoAway {
        last: u32,
        code: Code,
    },
    Reset {
        stream: u32,
        code: Code,
    },
    Window {
        stream: u32,
        increment: u32,
    },
    /// A head or trailers, with their block as it came.
    Fields {
        stream: u32,
        end_stream: bool,
        fields: Vec<Field>,
        block: Vec<u8>,
    },
    Data {
        stream: u32,
        end_stream: bool,
        bytes: Vec<u8>,
    },
    /// A part of a field block, or a frame that means nothing to a client.
    Nothing,
    /// The end of the connection.
    End,
}

impl Heard {
    /// The stream that it is of; 0 for the connection.
    pub(crate) fn stream(&self) -> u32 {
        match self {
            Self::Reset { stream, .. }
            | Self::Window { stream, .. }
            | Self::Fields { stream, .. }
            | Self::Data { stream, .. } => *stream,
            _ => 0,
        }
    }

    /// What it takes in memory.
    pub(crate) fn bytes(&self) -> usize {
        let text = match self {
            Self::Data { bytes, .. } => bytes.len(),
            Self::Fields { fields, block, .. } => {
                let field = |(name, value): &Field| size_of::<Field>() + name.len() + value.len();
                block.len() + fields.iter().map(field).sum::<usize>()
            }
            _ => 0,
        };
        size_of::<Self>() + text
    }
}

/// What a server takes, by its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Theirs {
    /// Streams at once; absent where it names no limit.
    pub(crate) streams: Option<u32>,
    /// Bytes of a stream's body before it gives more.
    pub(crate) window: u32,
    /// Bytes of the table of its decoder.
    pub(crate) table: u32,
    /// Bytes of a frame.
    pub(crate) frame: u32,
    /// Bytes of a list of fields, as far as it says.
    pub(crate) list: u32,
}

/// Reads frames in order.
#[derive(Debug)]
pub(crate) struct Reader {
    decoder: Decoder,
    /// Bytes of a frame that the server may send.
    frame_bytes: usize,
    theirs: Theirs,
    assembly: Option<Assembly>,
}

#[derive(Debug)]
struct Assembly {
    stream: u32,
    end_stream: bool,
    block: Vec<u8>,
}

impl Reader {
    /// A reader whose table is so many bytes large.
    pub(crate) fn new(table_bytes: u32) -> Self {
        let theirs =
            Theirs { streams: None, window: 65_535, table: 4096, frame: FRAME_BYTES as u32, list: u32::MAX };
        let decoder = Decoder::new(table_bytes as usize);
        Self { decoder, frame_bytes: FRAME_BYTES, theirs, assembly: None }
    }

    /// Lets the server do what these settings of ours allow.
    pub(crate) fn allow(&mut self, settings: &[(u16, u32)]) {
        for &(id, value) in settings {
            match id {
                TABLE_BYTES => self.decoder.allow(value as usize),
                FRAME_SIZE => self.frame_bytes = value as usize,
                _ => {}
            }
        }
    }

    /// What the server takes, as far as it has said so.
    pub(crate) fn theirs(&self) -> Theirs {
        self.theirs
    }

    /// What is wrong with a frame before its payload has come.
    pub(crate) fn check(&self, head: &Head) -> Result<(), String> {
        if head.len > self.frame_bytes {
            return Err(format!("a frame of {} bytes, longer than SETTINGS_MAX_FRAME_SIZE", head.len));
        }
        match &self.assembly {
            Some(assembly) if head.kind != Kind::Continuation || head.stream != assembly.stream => {
                Err("a field block is interrupted by another frame".to_owned())
            }
            None if head.kind == Kind::Continuation => Err("a CONTINUATION continues nothing".to_owned()),
            _ => Ok(()),
        }
    }

    /// What a frame says.
    pub(crate) fn read(&mut self, head: &Head, payload: &[u8]) -> Result<Heard, String> {
        let stream = head.stream;
        match head.kind {
            Kind::Data | Kind::Headers | Kind::RstStream if stream == 0 => {
                Err("a frame of a stream on stream 0".to_owned())
            }
            Kind::Settings | Kind::Ping | Kind::GoAway if stream != 0 => {
                Err("a frame of the connection on a stream".to_owned())
            }
            Kind::Data => {
                let bytes = unpadded(head, payload)?.to_vec();
                Ok(Heard::Data { stream, end_stream: head.has(END_STREAM), bytes })
            }
            Kind::Headers => self.read_headers(head, payload),
            Kind::Continuation => self.read_continuation(head, payload),
            Kind::Settings => self.read_settings(head, payload),
            Kind::PushPromise => Err("a PUSH_PROMISE, though SETTINGS_ENABLE_PUSH is 0".to_owned()),
            _ => read_small(head, payload),
        }
    }

    fn read_headers(&mut self, head: &Head, payload: &[u8]) -> Result<Heard, String> {
        let mut block = unpadded(head, payload)?;
        if head.has(PRIORITY) {
            block = block.get(5..).ok_or("HEADERS without room for their priority")?;
        }
        let assembly =
            Assembly { stream: head.stream, end_stream: head.has(END_STREAM), block: block.to_vec() };
        self.assemble(assembly, head.has(END_HEADERS))
    }

    fn read_continuation(&mut self, head: &Head, payload: &[u8]) -> Result<Heard, String> {
        let Some(mut assembly) = self.assembly.take() else { return Ok(Heard::Nothing) };
        assembly.block.extend_from_slice(payload);
        if assembly.block.len() > BLOCK_BYTES {
            return Err("a field block without end".to_owned());
        }
        self.assemble(assembly, head.has(END_HEADERS))
    }

    fn assemble(&mut self, assembly: Assembly, is_whole: bool) -> Result<Heard, String> {
        if !is_whole {
            self.assembly = Some(assembly);
            return Ok(Heard::Nothing);
        }
        let Assembly { stream, end_stream, block } = assembly;
        let mut fields = Vec::new();
        let told = |name: &[u8], value: &[u8]| fields.push((name.to_vec(), value.to_vec()));
        let size = self.decoder.decode(&block, LIST_BYTES, told).map_err(|error| error.to_string())?;
        if size > LIST_BYTES {
            return Err("a list of fields without end".to_owned());
        }
        Ok(Heard::Fields { stream, end_stream, fields, block })
    }

    fn read_settings(&mut self, head: &Head, payload: &[u8]) -> Result<Heard, String> {
        let ack = head.has(ACK);
        if !payload.len().is_multiple_of(6) || (ack && !payload.is_empty()) {
            return Err("a SETTINGS frame of the wrong length".to_owned());
        }
        for setting in payload.as_chunks::<6>().0 {
            let value = number(&setting[2..]);
            match u16::from_be_bytes([setting[0], setting[1]]) {
                1 => self.theirs.table = value,
                2 if value != 0 => return Err("a server's SETTINGS_ENABLE_PUSH other than 0".to_owned()),
                3 => self.theirs.streams = Some(value),
                4 if value > MAX_31 => return Err("SETTINGS_INITIAL_WINDOW_SIZE above 2^31-1".to_owned()),
                4 => self.theirs.window = value,
                5 if !(FRAME_BYTES as u32..1 << 24).contains(&value) => {
                    return Err("SETTINGS_MAX_FRAME_SIZE below 2^14 or above 2^24-1".to_owned());
                }
                5 => self.theirs.frame = value,
                6 => self.theirs.list = value,
                _ => {}
            }
        }
        Ok(Heard::Settings { ack })
    }
}

fn read_small(head: &Head, payload: &[u8]) -> Result<Heard, String> {
    let wrong_length = || format!("a frame of type {:#04x} of the wrong length", head.kind.number());
    let stream = head.stream;
    match head.kind {
        Kind::Ping => {
            let opaque = <[u8; 8]>::try_from(payload).map_err(|_| wrong_length())?;
            Ok(Heard::Ping { ack: head.has(ACK), opaque })
        }
        Kind::GoAway if payload.len() >= 8 => {
            Ok(Heard::GoAway { last: number(payload) & MAX_31, code: code(&payload[4..]) })
        }
        Kind::RstStream if payload.len() == 4 => Ok(Heard::Reset { stream, code: code(payload) }),
        Kind::WindowUpdate if payload.len() == 4 => match number(payload) & MAX_31 {
            0 => Err("a WINDOW_UPDATE by nothing".to_owned()),
            increment => Ok(Heard::Window { stream, increment }),
        },
        Kind::GoAway | Kind::RstStream | Kind::WindowUpdate => Err(wrong_length()),
        _ => Ok(Heard::Nothing),
    }
}

/// The payload of a frame without its padding (RFC 9113 §6.1).
fn unpadded<'p>(head: &Head, payload: &'p [u8]) -> Result<&'p [u8], String> {
    if !head.has(PADDED) {
        return Ok(payload);
    }
    let within = || {
        let (padding, rest) = payload.split_first()?;
        rest.get(..rest.len().checked_sub(usize::from(*padding))?)
    };
    within().ok_or_else(|| "the padding is longer than its frame".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::frame::{self, Frame};
    use assay_h2::frame::HEAD_BYTES;

    fn read(reader: &mut Reader, frame: &Frame) -> Result<Heard, String> {
        let head = Head::read(frame.bytes()).expect("a head");
        reader.check(&head)?;
        reader.read(&head, &frame.bytes()[HEAD_BYTES..])
    }

    #[test]
    fn a_block_in_pieces_is_one() {
        let mut reader = Reader::new(4096);
        assert_eq!(read(&mut reader, &frame::headers(1, END_STREAM, &[])), Ok(Heard::Nothing));
        assert!(reader.check(&Head::read(frame::ping([0; 8]).bytes()).expect("a head")).is_err());
        let whole = read(&mut reader, &frame::continuation(1, END_HEADERS, &[0x88]));
        let fields = vec![(b":status".to_vec(), b"200".to_vec())];
        assert_eq!(whole, Ok(Heard::Fields { stream: 1, end_stream: true, fields, block: vec![0x88] }));
    }

    #[test]
    fn what_breaks_the_protocol_is_no_frame() {
        let padded = frame::data(1, PADDED, &frame::padded(9, b"x", 2));
        for wrong in [
            frame::data(0, 0, b""),
            frame::continuation(1, 0, b""),
            frame::headers(1, END_HEADERS, &[0x80]),
            frame::settings(&[(2, 1)]),
            frame::settings(&[(5, 1)]),
            frame::window_update(1, 0),
            Frame::new(Kind::Ping, 0, 0, b"short"),
            Frame::new(Kind::GoAway, 0, 0, b"short"),
            Frame::new(Kind::PushPromise, END_HEADERS, 1, &[0, 0, 0, 2]),
            frame::data(1, 0, &[0; FRAME_BYTES + 1]),
            padded,
        ] {
            assert!(read(&mut Reader::new(4096), &wrong).is_err(), "{}", wrong.in_words());
        }
    }

    #[test]
    fn settings_of_ours_allow_long_frames_and_a_large_table() {
        let long = frame::data(1, 0, &[0; FRAME_BYTES + 1]);
        let larger = frame::headers(1, END_HEADERS, &[0x3f, 0xe2, 0x1f, 0x88]);
        let mut reader = Reader::new(4096);
        assert!(read(&mut reader, &long).is_err() && read(&mut reader, &larger).is_err());
        reader.allow(&[(FRAME_SIZE, FRAME_BYTES as u32 + 1), (TABLE_BYTES, 4097)]);
        assert!(read(&mut reader, &long).is_ok() && read(&mut reader, &larger).is_ok());
    }

    #[test]
    fn settings_tell_what_the_server_takes() {
        let mut reader = Reader::new(4096);
        let told = read(&mut reader, &frame::settings(&[(3, 100), (4, 1), (1, 0), (6, 9), (0xff, 7)]));
        assert_eq!(told, Ok(Heard::Settings { ack: false }));
        let theirs = Theirs { streams: Some(100), window: 1, table: 0, frame: 16_384, list: 9 };
        assert_eq!(reader.theirs(), theirs);
    }
}
