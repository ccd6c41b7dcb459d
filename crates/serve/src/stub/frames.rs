//! An answer as the frames of a stream (RFC 9113 §8.1), written when they leave, as far as windows allow.

use assay_grpc::{Status, message};
use assay_h2::frame::{FRAME_BYTES, Kind, flag, write_block, write_head, write_reset};
use assay_h2::hpack::write_field;
use assay_h2::{Code, Connection};
use assay_http::Framing;

use super::BODY;
use super::faults::{Fault, changed};
use super::shape::{Bytes, Shape, TRAILERS};
use crate::blocks;
use crate::http2::calls;

/// Bytes of a frame where an answer comes in several.
const CHUNK_BYTES: usize = 5;

/// A stream, and the bytes of body that its client takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stream {
    pub(super) id: u32,
    pub(super) window: i64,
}

/// An answer, as far as it has not left.
pub(super) struct Frames {
    pub(super) stream: Stream,
    /// The frames of its heads; empty when they have left.
    heads: Vec<u8>,
    /// Body of the answer: these bytes from `at` on.
    body: Bytes,
    at: u64,
    /// Bytes of body in a frame at most.
    most: usize,
    ending: Ending,
}

/// How a stream ends.
enum Ending {
    /// With the last frame of the body, or with the head where there is none.
    Flag,
    /// With a frame behind the body: trailers or a reset.
    Frame(Vec<u8>),
}

impl Frames {
    /// A response that was programmed for HTTP/1.1, in the frames that say the same.
    pub(super) fn of_shape(stream: Stream, shape: &Shape, fault: Fault) -> Self {
        let text = &shape.bytes.text;
        let (mut heads, mut len, mut is_chunked) = (Vec::new(), 0, false);
        let mut block = Vec::new();
        while let Some(head) = blocks::write_head(&text[len..], &mut block) {
            len += head.len as usize;
            if !head.is_interim() {
                is_chunked = head.framing(false) == Framing::Chunked && len < text.len();
                break;
            }
            write_block(stream.id, &std::mem::take(&mut block), false, &mut heads);
        }
        let (body, at) = match is_chunked {
            true => (Bytes::whole(BODY.as_bytes().into()), 0),
            false => (shape.bytes.clone(), len as u64),
        };
        let ending = match fault {
            Fault::ResetInBody => Ending::Frame(reset(stream)),
            _ if is_chunked => Ending::Frame(last_block(stream, &block_of(&TRAILERS))),
            _ => Ending::Flag,
        };
        let is_last = at == body.len && matches!(ending, Ending::Flag);
        write_block(stream.id, &block, is_last, &mut heads);
        let most = if is_chunked { CHUNK_BYTES } else { FRAME_BYTES };
        Self { stream, heads, body, at, most, ending }
    }

    /// A message of gRPC in its frame, given back as it came or spoilt; `most` bytes of it are in a frame of HTTP/2.
    pub(super) fn of_call(stream: Stream, framed: &[u8], fault: Fault, most: usize) -> Self {
        let (body, ending) = match fault {
            Fault::Status500 => return Self::failed(stream),
            Fault::ResetInBody => (framed[..framed.len() / 2].to_vec(), reset(stream)),
            Fault::WrongByte => (spoilt(framed), last_block(stream, calls::trailers())),
            Fault::None | Fault::Never => (framed.to_vec(), last_block(stream, calls::trailers())),
        };
        let mut heads = Vec::new();
        write_block(stream.id, calls::head(), false, &mut heads);
        Self { stream, heads, body: Bytes::whole(body.into()), at: 0, most, ending: Ending::Frame(ending) }
    }

    /// A call that has failed, for which a status of gRPC stands where one of HTTP would be 500.
    fn failed(stream: Stream) -> Self {
        let status = Status::new(assay_grpc::Code::Internal, "as programmed");
        let heads = last_block(stream, &calls::only_trailers(&status));
        let body = Bytes::whole([].into());
        Self { stream, heads, body, at: 0, most: FRAME_BYTES, ending: Ending::Flag }
    }

    /// The frames that may leave next, about as many as fit into one of the longest; nothing when a window is closed.
    pub(super) fn next(&mut self, connection: &mut Connection) -> Option<Vec<u8>> {
        let mut out = std::mem::take(&mut self.heads);
        while self.at < self.body.len && out.len() < FRAME_BYTES {
            let window = self.stream.window.min(connection.send_window()).max(0) as usize;
            let piece = self.body.from(self.at);
            let len = piece.len().min(self.most).min(window);
            if len == 0 {
                break;
            }
            let is_last = self.at + len as u64 == self.body.len && matches!(self.ending, Ending::Flag);
            write_head(Kind::Data, if is_last { flag::END_STREAM } else { 0 }, self.stream.id, len, &mut out);
            out.extend_from_slice(&piece[..len]);
            self.at += len as u64;
            self.stream.window -= len as i64;
            connection.spend(len);
        }
        if self.at == self.body.len
            && let Ending::Frame(frame) = &mut self.ending
        {
            out.append(frame);
        }
        (!out.is_empty()).then_some(out)
    }

    pub(super) fn is_done(&self) -> bool {
        let is_ended = match &self.ending {
            Ending::Flag => true,
            Ending::Frame(frame) => frame.is_empty(),
        };
        self.heads.is_empty() && self.at == self.body.len && is_ended
    }
}

fn block_of(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        write_field(name.to_ascii_lowercase().as_bytes(), value.as_bytes(), &mut block);
    }
    block
}

/// A block behind which nothing follows.
fn last_block(stream: Stream, block: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    write_block(stream.id, block, true, &mut out);
    out
}

fn reset(stream: Stream) -> Vec<u8> {
    let mut out = Vec::new();
    write_reset(stream.id, Code::InternalError.number(), &mut out);
    out
}

/// A message in its frame, with one byte that is another.
fn spoilt(framed: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    message::frame(&changed(framed.get(message::PREFIX_BYTES..).unwrap_or_default()), &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stub::shape::Texts;
    use assay_h2::{Event, Limits, Role, Settings};

    const STREAM: Stream = Stream { id: 1, window: 1 << 20 };

    /// The two ends of a connection whose client has said how much of a body it takes.
    fn ends(window: u32) -> (Connection, Connection) {
        let settings = Settings { initial_window: window, ..Settings::default() };
        let mut client = Connection::new(Role::Client, &settings, 1 << 20, Limits::DEFAULT);
        let mut server = Connection::new(Role::Server, &Settings::default(), 1 << 20, Limits::DEFAULT);
        for (from, to) in [(0, 1), (1, 0)] {
            let ends = [&mut client, &mut server];
            let bytes = std::mem::take(ends[from].out());
            let mut rest = &bytes[..];
            while let Some((used, _)) = ends[to].read(rest).unwrap() {
                rest = &rest[used..];
            }
            assert!(rest.is_empty());
        }
        (client, server)
    }

    /// What a client reads of an answer that leaves whole: the fields of each block, the body, and whether the stream ended.
    fn read(frames: &mut Frames) -> (Vec<String>, Vec<u8>, bool) {
        let (mut client, mut server) = ends(1 << 20);
        let (mut blocks, mut body, mut is_ended) = (Vec::new(), Vec::new(), false);
        while !frames.is_done() {
            let bytes = frames.next(&mut server).unwrap();
            let mut rest = &bytes[..];
            while let Some((used, event)) = client.read(rest).unwrap() {
                match event {
                    Event::Fields { end_stream, block, .. } => {
                        let mut told = String::new();
                        let mut tell = |name: &[u8], value: &[u8]| {
                            told += &String::from_utf8_lossy(&[name, b"=", value, b" "].concat());
                        };
                        client.decode(&block, &mut tell).unwrap();
                        blocks.push(told);
                        is_ended |= end_stream;
                    }
                    Event::Data { data, end_stream, .. } => {
                        body.extend_from_slice(data);
                        is_ended |= end_stream;
                    }
                    _ => {}
                }
                rest = &rest[used..];
            }
        }
        (blocks, body, is_ended)
    }

    fn of(path: &str, head_only: bool) -> (Vec<String>, Vec<u8>, bool) {
        let shape = Texts::new().shape(path.as_bytes(), head_only);
        read(&mut Frames::of_shape(STREAM, &shape, Fault::None))
    }

    #[test]
    fn every_form_says_over_http2_what_it_says_over_http1() {
        for path in ["/", "/trickle", "/split", "/fields", "/long-head", "/chunked", "/interim", "/close"] {
            let (blocks, body, is_ended) = of(path, false);
            assert_eq!((body, is_ended), (BODY.as_bytes().to_vec(), true), "{path}");
            assert_eq!(
                blocks.len(),
                match path {
                    "/interim" => 3,
                    "/chunked" => 2,
                    _ => 1,
                }
            );
            let (blocks, body, is_ended) = of(path, true);
            assert_eq!((body.len(), is_ended), (0, true), "{path}");
            assert!(blocks.last().unwrap().starts_with(":status=200 "), "{path}: {blocks:?}");
        }
        assert_eq!(of("/204", false).0, [":status=204 "]);
        assert_eq!(of("/chunked", false).0[1], "x-sum=1 x-other=a b ");
        assert_eq!(of("/pattern/100000", false).1.len(), 100_000);
    }

    #[test]
    fn a_body_waits_for_the_windows_and_goes_on_where_it_stood() {
        let (_, mut server) = ends(1 << 20);
        let shape = Texts::new().shape(b"/pattern/40", false);
        let stream = Stream { window: 15, ..STREAM };
        let mut frames = Frames::of_shape(stream, &shape, Fault::None);
        assert!(frames.next(&mut server).is_some());
        assert_eq!((frames.next(&mut server), frames.is_done()), (None, false));
        frames.stream.window += 25;
        let rest = frames.next(&mut server).unwrap();
        assert_eq!((rest.len(), rest[4], frames.is_done()), (9 + 25, flag::END_STREAM, true));
    }

    #[test]
    fn a_call_is_given_back_or_spoilt_in_a_way_of_its_own() {
        let mut framed = Vec::new();
        message::frame(b"\x0a\x02hi", &mut framed);
        let call = |fault| read(&mut Frames::of_call(STREAM, &framed, fault, 1));
        let head = ":status=200 content-type=application/grpc ";
        assert_eq!(call(Fault::None), (vec![head.into(), "grpc-status=0 ".into()], framed.clone(), true));
        assert_eq!(call(Fault::WrongByte).1, b"\0\0\0\0\x04\x0a\x02hh");
        let failed = format!("{head}grpc-status=13 grpc-message=as programmed ");
        assert_eq!(call(Fault::Status500), (vec![failed], Vec::new(), true));
        assert_eq!(call(Fault::ResetInBody), (vec![head.into()], framed[..4].to_vec(), false));
    }
}
