//! A small server with one fault: right in everything else, and so the fault is what a rule finds.

mod answer;
mod chat;
mod reading;
mod rough;
mod rows;
mod sockets;

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use assay_http::render::CONTINUE;

use reading::{Asked, Reading};
pub(crate) use rows::{Table, page};
use sockets::Then;

use crate::serving::{Life, Listening, Manners, TICK, linger, receive};

/// After so many requests a connection ends with [`Fault::TiresSoon`], and with [`Fault::RetiresSoon`].
const TIRED_AFTER: usize = 10;
/// A target or head beyond this is too much for [`Fault::HangsOnHuge`].
const HUGE_BYTES: usize = 32 << 10;
const EARLY_HINTS: &[u8] = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n";
const PING: &[u8] = b"\x89\x04ping";
/// How often something comes, one tick after the other, that is to renew no deadline.
const ENDLESS: usize = 400;

/// What a server can do wrong. Those from [`Fault::Rough`] on read heads and bodies roughly instead of strictly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    None,
    /// No fault either: says early hints before each answer (RFC 8297).
    EarlyHints,
    /// No fault either: reads bodies, and refuses all but the shortest for what they hold.
    PickyAboutContent,
    /// Says early hints again and again to POST, and the answer when nobody waits any more.
    EndlessHints,
    /// Thinks that a request comes in one piece.
    OneRead,
    /// Throws away what came behind a request.
    ForgetsPipelined,
    RefusesEmptyLine,
    /// Ends connections that it said it would keep.
    AlwaysCloses,
    TiresSoon,
    /// Says with its tenth answer that it is the last of its connection.
    RetiresSoon,
    /// Serves one connection until it ends, then the next.
    OneConnection,
    IgnoresClose,
    ClosesWordlessly,
    AnswersAfterClose,
    KeepsHttp10,
    ChunksAlways,
    DropsOnHalfClose,
    NoHead,
    HeadWithContent,
    HeadTellsZero,
    NoDate,
    BadDate,
    FrozenDate,
    IgnoresExpect,
    ContinuesHttp10,
    /// Thinks that no GET has a body.
    BodilessGets,
    /// No fault: ends the connection at a GET with a body, without a word.
    DropsBodiesOfGet,
    EverythingExists,
    AnyMethod,
    AnyCase,
    NoAllow,
    NoAbsoluteTarget,
    ShortTargets,
    HangsOnHuge,
    /// Serves files under a folder, wherever a path leads.
    AnyFile,
    /// Takes LF for nothing, and waits for an end that does not come.
    WaitsAtLf,
    NoServer,
    NoLength,
    WrongStatus,
    WrongBody,
    WrongType,
    /// Ends altogether when it sees a NUL.
    DiesOfNul,
    NumberOutOfRange,
    /// Gives the first row always.
    SameRow,
    /// Answers without its database.
    AsksNothing,
    NeverClamps,
    StumblesOverNumbers,
    WritesNothing,
    ReturnsOtherNumbers,
    Unescaped,
    Unsorted,
    OtherPage,
    /// Answers to a message that it does not keep.
    KeepsNoMessages,
    OldestMessages,
    AnyPassword,
    AnySession,
    OpenRooms,
    AnyMessage,
    // Of WebSockets.
    /// Pings again and again, and gives a message back when nobody waits any more.
    EndlessPings,
    WrongAccept,
    FussyCase,
    AnyVersion,
    VersionUntold,
    AnyKey,
    OpensUnasked,
    OpensPosts,
    OpensHttp10,
    ForcesExtension,
    ForcesProtocol,
    TextsAreBinary,
    BinaryIsText,
    DropsEmpty,
    SixteenBits,
    MasksAnswers,
    NewestFirst,
    FramesAreMessages,
    EmptyFrameEnds,
    FramesAreTexts,
    NoPongs,
    ShortPongs,
    PongsLate,
    FirstPongOnly,
    PongIsBreach,
    NoCloses,
    NoEmptyCloses,
    NoReasons,
    RegisteredCodes,
    AlwaysNormal,
    TalksAfterClose,
    StaysOpen,
    AnyMask,
    AnyBits,
    AnyOpcode,
    LongControls,
    FragmentedControls,
    ContinuesNothing,
    Interleaves,
    TopBit,
    AnyLength,
    AnyText,
    ShortCloses,
    RepeatsAnyCode,
    EndsSilently,
    DiesOfHuge,
    DiesOfHalves,
    /// Takes whatever looks a little like HTTP.
    Rough,
    CrEndsLine,
    NulEndsLine,
    NoBodies,
    NoChunks,
    NoExtensions,
    /// Takes the first line behind the chunks for the end of the body.
    OneTrailer,
    /// Takes the second for it where the first is a trailer.
    LineBehindTrailer,
    PrefersLength,
    IgnoresCodings,
    LfEndsChunkLine,
    SkipsToChunkEnd,
}

/// A running server; ends when dropped.
pub(crate) struct Faulty {
    pub(crate) address: SocketAddr,
    /// Database of the server.
    pub(crate) table: Arc<Mutex<Table>>,
    _listening: Listening,
}

struct Shared {
    fault: Fault,
    table: Arc<Mutex<Table>>,
    chat: Mutex<chat::Chat>,
    root: PathBuf,
    began: SystemTime,
    life: Arc<Life>,
}

impl Faulty {
    /// A server with a fault, and a folder for those that serve files.
    pub(crate) fn start(fault: Fault, root: PathBuf) -> Self {
        crate::room_for_slow_clients();
        let (life, table) = (Arc::<Life>::default(), Arc::new(Mutex::new(Table::default())));
        let shared = Arc::new(Shared {
            fault,
            table: Arc::clone(&table),
            chat: Mutex::default(),
            root,
            began: SystemTime::now(),
            life: Arc::clone(&life),
        });
        let manners = if fault == Fault::OneConnection { Manners::OneByOne } else { Manners::AllAtOnce };
        let listening = Listening::start(&life, manners, move |stream| {
            Connection { stream, input: Vec::new(), served: 0, shared: Arc::clone(&shared) }.serve();
        });
        Self { address: listening.address, table, _listening: listening }
    }
}

struct Connection {
    stream: TcpStream,
    input: Vec<u8>,
    served: usize,
    shared: Arc<Shared>,
}

impl Connection {
    fn serve(&mut self) {
        while self.another().is_some() {}
        linger(&self.stream);
    }

    /// Serves one request; nothing at the end of the connection.
    fn another(&mut self) -> Option<()> {
        let fault = self.shared.fault;
        let mut asked = self.request()?;
        asked.close |= fault == Fault::RetiresSoon && self.served + 1 == TIRED_AFTER;
        if fault == Fault::DiesOfNul && self.input[..asked.len].contains(&0) {
            self.shared.life.end();
            return None;
        }
        let head: Vec<u8> = self.input.drain(..asked.len).collect();
        if let Some((answer, is_open)) = sockets::open(&head, fault) {
            self.stream.write_all(&answer).ok()?;
            return if is_open { self.talk() } else { Some(()) };
        }
        if fault == Fault::DropsOnHalfClose {
            std::thread::sleep(10 * TICK);
            if matches!(self.stream.peek(&mut [0]), Ok(0)) {
                return None;
            }
        }
        if fault == Fault::ForgetsPipelined {
            self.input.clear();
        }
        if fault == Fault::DropsBodiesOfGet && asked.method == "GET" && !asked.body.is_empty() {
            return None;
        }
        self.hint(&asked)?;
        self.stream.write_all(&answer::bytes(&asked, &self.shared)).ok()?;
        self.served += 1;
        let tired = fault == Fault::TiresSoon && self.served == TIRED_AFTER;
        if fault == Fault::AlwaysCloses || fault == Fault::NoLength || tired {
            return None;
        }
        let behind = fault == Fault::AnswersAfterClose && !self.input.is_empty();
        (keeps(fault, &asked) || behind).then_some(())
    }

    /// Says what comes before an answer, to those who know of that.
    fn hint(&mut self, asked: &Asked) -> Option<()> {
        let times = match self.shared.fault {
            Fault::EarlyHints if !asked.is_10 => 1,
            Fault::EndlessHints if asked.method == "POST" => ENDLESS,
            _ => 0,
        };
        if self.shared.fault == Fault::ContinuesHttp10 && asked.is_10 && asked.expects {
            self.stream.write_all(CONTINUE).ok()?;
        }
        for _ in 0..times {
            self.stream.write_all(EARLY_HINTS).ok()?;
            if times == ENDLESS {
                std::thread::sleep(TICK);
            }
        }
        Some(())
    }

    /// Gives messages back until the WebSocket ends.
    fn talk(&mut self) -> Option<()> {
        let mut socket = sockets::Socket::new(self.shared.fault);
        loop {
            if self.shared.fault == Fault::EndlessPings && !self.input.is_empty() {
                self.ping_on_and_on()?;
            }
            let (answers, then) = socket.talk(&mut self.input);
            self.stream.write_all(&answers).ok()?;
            match then {
                Then::GoOn | Then::Stay => {}
                Then::End => return None,
                Then::Die => self.die(),
            }
            if then == Then::Stay {
                self.input.clear();
            }
            if self.receive().is_none() {
                if !self.input.is_empty() && self.shared.fault == Fault::DiesOfHalves {
                    self.die();
                }
                return None;
            }
        }
    }

    fn ping_on_and_on(&mut self) -> Option<()> {
        for _ in 0..ENDLESS {
            self.stream.write_all(PING).ok()?;
            std::thread::sleep(TICK);
        }
        Some(())
    }

    fn die(&self) {
        self.shared.life.end();
    }

    /// Reads until a request is whole; says 100 where one is expected.
    fn request(&mut self) -> Option<Asked> {
        let fault = self.shared.fault;
        let mut told = false;
        loop {
            match reading::read(&self.input, fault) {
                Reading::Whole(asked) => return Some(asked),
                Reading::Bad(status) => {
                    let _ = self.stream.write_all(&answer::refusal(status, &self.shared));
                    return None;
                }
                Reading::Partial if fault == Fault::OneRead && !self.input.is_empty() => {
                    let _ = self.stream.write_all(&answer::refusal(400, &self.shared));
                    return None;
                }
                Reading::Partial => {}
                Reading::Expecting => {
                    if !told && fault != Fault::IgnoresExpect {
                        self.stream.write_all(CONTINUE).ok()?;
                        told = true;
                    }
                }
            }
            self.receive()?;
        }
    }

    fn receive(&mut self) -> Option<()> {
        self.input.extend(receive(&self.stream, &self.shared.life)?);
        Some(())
    }
}

/// Whether the connection stays open behind the answer.
fn keeps(fault: Fault, asked: &Asked) -> bool {
    match (asked.is_10, asked.close) {
        (true, _) => fault == Fault::KeepsHttp10 || fault >= Fault::Rough && asked.keep_alive,
        (false, close) => !close || fault == Fault::IgnoresClose,
    }
}

fn unix_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
