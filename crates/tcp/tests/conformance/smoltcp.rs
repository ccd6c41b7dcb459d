//! The stack against smoltcp's TCP, an independent implementation, over a ring that loses, doubles and reorders frames.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use assay_engine::{Conn, Engine, Event, clock};
use assay_model::units::Nanos;
use assay_tcp::{Config, UserStack};
use assay_wire::faults::{Faults, around};
use assay_wire::{Receiver as _, Sender as _, Wire, ring};
use smoltcp::iface::{Interface, SocketHandle, SocketSet};
use smoltcp::phy::{ChecksumCapabilities, Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp::{Socket, SocketBuffer, State};
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetAddress, IpAddress, IpCidr};

const OURS: &str = "10.77.0.1/24";
const THEIRS: [u8; 4] = [10, 77, 0, 2];
const THEIR_HARDWARE: [u8; 6] = [2, 0, 0, 0, 0, 2];
const PORT: u16 = 80;
const PATIENCE: Nanos = Nanos::from_millis(100_000);

/// The wire as smoltcp wants it.
struct Card<W>(W);

struct Arrived(Vec<u8>);
struct Leave<'w, W>(&'w mut W);

impl<W: Wire> Device for Card<W> {
    type RxToken<'t>
        = Arrived
    where
        Self: 't;
    type TxToken<'t>
        = Leave<'t, W>
    where
        Self: 't;

    fn receive(&mut self, _: Instant) -> Option<(Arrived, Leave<'_, W>)> {
        if !self.0.split().1.room() {
            return None;
        }
        let frame = self.0.split().0.peek()?.to_vec();
        self.0.split().0.release();
        Some((Arrived(frame), Leave(&mut self.0)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Leave<'_, W>> {
        self.0.split().1.room().then_some(Leave(&mut self.0))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = self.0.facts().mtu + 14;
        // Nobody writes checksums on a ring.
        capabilities.checksum = ChecksumCapabilities::ignored();
        capabilities
    }
}

impl RxToken for Arrived {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

impl<W: Wire> TxToken for Leave<'_, W> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, fill: F) -> R {
        self.0.split().1.send(length, fill)
    }
}

/// smoltcp with one socket.
struct Theirs<W> {
    card: Card<W>,
    interface: Interface,
    sockets: SocketSet<'static>,
    handle: SocketHandle,
    to_send: Vec<u8>,
    sent: usize,
    received: Vec<u8>,
}

impl<W: Wire> Theirs<W> {
    fn new(wire: W, to_send: Vec<u8>) -> Self {
        let mut card = Card(wire);
        let config = smoltcp::iface::Config::new(EthernetAddress(THEIR_HARDWARE).into());
        let mut interface = Interface::new(config, &mut card, instant());
        interface.update_ip_addrs(|addresses| {
            addresses.push(IpCidr::new(IpAddress::Ipv4(THEIRS.into()), 24)).unwrap();
        });
        let buffer = || SocketBuffer::new(vec![0; 20_000]);
        let mut sockets = SocketSet::new(Vec::new());
        let handle = sockets.add(Socket::new(buffer(), buffer()));
        Self { card, interface, sockets, handle, to_send, sent: 0, received: Vec::new() }
    }

    fn listen(&mut self) {
        self.sockets.get_mut::<Socket<'_>>(self.handle).listen(PORT).unwrap();
    }

    fn connect(&mut self) {
        let socket = self.sockets.get_mut::<Socket<'_>>(self.handle);
        let ours = (IpAddress::v4(10, 77, 0, 1), PORT);
        socket.connect(self.interface.context(), ours, 50_000).unwrap();
    }

    fn turn(&mut self) {
        self.interface.poll(instant(), &mut self.card, &mut self.sockets);
        let socket = self.sockets.get_mut::<Socket<'_>>(self.handle);
        while socket.can_recv() {
            let take = |bytes: &mut [u8]| {
                self.received.extend_from_slice(bytes);
                (bytes.len(), ())
            };
            socket.recv(take).unwrap();
        }
        if socket.can_send() {
            self.sent += socket.send_slice(&self.to_send[self.sent..]).unwrap();
        }
        if self.sent == self.to_send.len() && matches!(socket.state(), State::Established | State::CloseWait)
        {
            socket.close();
        }
        self.interface.poll(instant(), &mut self.card, &mut self.sockets);
        self.card.0.split().1.flush();
    }

    fn state(&self) -> State {
        self.sockets.get::<Socket<'_>>(self.handle).state()
    }
}

fn instant() -> Instant {
    Instant::from_micros((clock::now().0 / 1_000) as i64)
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 31 + i / 251) as u8).collect()
}

/// Our stack with one connection.
struct Ours<W: Wire> {
    stack: UserStack<W>,
    conn: Option<Conn>,
    to_send: Vec<u8>,
    sent: usize,
    received: Vec<u8>,
    has_ended: bool,
}

impl<W: Wire> Ours<W> {
    fn turn(&mut self) {
        let mut events = Vec::new();
        self.stack.poll(Nanos::ZERO, &mut events).unwrap();
        for event in events {
            match event {
                Event::Accepted(conn) | Event::Connected(conn) => self.conn = Some(conn),
                Event::Readable(conn) => {
                    let view = self.stack.receive(conn);
                    self.received.extend_from_slice(view);
                    let n = view.len();
                    self.stack.consume(conn, n);
                }
                Event::Writable(_) => {}
                Event::Eof(_) => self.has_ended = true,
                Event::Closed(_, reason) => panic!("{reason} after {} bytes", self.received.len()),
            }
        }
        let Some(conn) = self.conn else { return };
        if self.sent < self.to_send.len() && self.stack.queued(conn) == 0 {
            self.sent += self.stack.send(conn, &[&self.to_send[self.sent..]]);
            if self.sent == self.to_send.len() {
                self.stack.shutdown(conn);
            }
        }
    }
}

/// Lets both ends send and close; `opens` says whether we open the connection.
fn exchange(faults: Faults, opens: bool) {
    let bytes = 600_000;
    let (near, far) = ring::pair().unwrap();
    let config = Config::new(4, vec![OURS.parse().unwrap()]);
    let stack = UserStack::new(around(near, faults, 1), config).unwrap();
    let mut theirs = Theirs::new(around(far, faults, 2), pattern(bytes));
    let mut ours =
        Ours { stack, conn: None, to_send: pattern(bytes), sent: 0, received: Vec::new(), has_ended: false };
    if opens {
        theirs.listen();
        ours.stack.connect((THEIRS, PORT).into(), None).unwrap();
    } else {
        ours.stack.listen(([10, 77, 0, 1], PORT).into()).unwrap();
        theirs.connect();
    }
    let deadline = clock::now() + PATIENCE;
    while !ours.has_ended || theirs.received.len() < bytes {
        ours.turn();
        theirs.turn();
        let progress = [ours.received.len(), theirs.received.len()];
        assert!(clock::now() < deadline, "{progress:?} of {bytes} bytes came; smoltcp: {}", theirs.state());
    }
    assert!(ours.received == pattern(bytes) && theirs.received == pattern(bytes));
}

fn spoilt() -> Faults {
    let rate = |text: &str| text.parse().unwrap();
    Faults { loss: rate("0.3%"), duplicate: rate("2%"), reorder: rate("2%"), seed: 7, ..Faults::default() }
}

#[test]
fn talks_to_smoltcp_that_opens() {
    exchange(Faults::default(), false);
}

#[test]
fn talks_to_smoltcp_that_listens() {
    exchange(Faults::default(), true);
}

#[test]
fn talks_to_smoltcp_over_a_bad_wire_that_opens() {
    exchange(spoilt(), false);
}

#[test]
fn talks_to_smoltcp_over_a_bad_wire_that_listens() {
    exchange(spoilt(), true);
}
