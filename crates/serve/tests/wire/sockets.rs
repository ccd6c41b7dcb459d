//! WebSockets, with a client that no one here wrote.

use std::net::TcpStream;

use assay_engine::EngineKind;
use assay_serve::Limits;
use tungstenite::protocol::CloseFrame;
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::{Message, WebSocket};

use crate::support::Running;

on_each_engine!(
    a_strange_client_gets_its_messages_back,
    many_sockets_are_open_beside_requests,
    stopping_says_going_away
);

fn open(server: &Running) -> WebSocket<TcpStream> {
    let url = format!("ws://{}/ws", server.address);
    let (socket, answer) = tungstenite::client(url, server.connect()).unwrap();
    assert_eq!(answer.status(), 101);
    socket
}

fn exchange(socket: &mut WebSocket<TcpStream>, message: &Message) {
    socket.send(message.clone()).unwrap();
    assert_eq!(socket.read().unwrap(), *message);
}

fn a_strange_client_gets_its_messages_back(engine: EngineKind) {
    let server = Running::start(engine, Limits::default());
    let mut socket = open(&server);
    for length in [0, 1, 125, 126, 65_535, 65_536, 1 << 20] {
        exchange(&mut socket, &Message::text("ü".repeat(length / 2)));
        exchange(&mut socket, &Message::binary(vec![0xa5; length]));
    }
    socket.send(Message::Ping("still there?".into())).unwrap();
    assert_eq!(socket.read().unwrap(), Message::Pong("still there?".into()));
    let farewell = CloseFrame { code: CloseCode::Iana(3456), reason: "".into() };
    socket.close(Some(farewell.clone())).unwrap();
    assert_eq!(socket.read().unwrap(), Message::Close(Some(farewell)));
    assert!(matches!(socket.read(), Err(tungstenite::Error::ConnectionClosed)));
    let summary = server.stop();
    assert_eq!((summary.messages(), summary.requests(), summary.refused()), (14, 1, 0));
}

fn many_sockets_are_open_beside_requests(engine: EngineKind) {
    let server = Running::start(engine, Limits::default());
    let mut sockets: Vec<_> = (0..100).map(|_| open(&server)).collect();
    for round in 0..3 {
        for (i, socket) in sockets.iter_mut().enumerate() {
            exchange(socket, &Message::text(format!("{round} of {i}")));
        }
        crate::support::hello(&mut server.connect());
    }
    drop(sockets);
    assert_eq!(server.stop().messages(), 300);
}

fn stopping_says_going_away(engine: EngineKind) {
    let server = Running::start(engine, Limits::default());
    let mut socket = open(&server);
    exchange(&mut socket, &Message::text("hello"));
    let stopping = std::thread::spawn(move || server.stop());
    let Ok(Message::Close(Some(frame))) = socket.read() else { panic!("no farewell") };
    assert_eq!(frame.code, CloseCode::Away);
    while socket.read().is_ok() {}
    drop(socket);
    assert_eq!(stopping.join().unwrap().messages(), 1);
}
