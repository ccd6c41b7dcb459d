//! TLS over TCP in user space, both ends in one thread.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use assay_engine::{Engine, Event, clock};
use assay_model::units::Nanos;
use assay_tcp::{Config, UserStack};
use assay_tls::{Terms, Tls};
use assay_wire::ring::{self, Ring};

const BYTES: usize = 3 << 20;

fn engines() -> [Tls<UserStack<Ring>>; 2] {
    let (client, server) = crate::support::acquainted(true);
    let (near, far) = ring::pair().unwrap();
    let stack =
        |ring, address: &str| UserStack::new(ring, Config::new(8, vec![address.parse().unwrap()])).unwrap();
    [
        Tls::new(stack(near, "10.77.0.1/24"), &Terms::from(server)),
        Tls::new(stack(far, "10.77.0.2/24"), &Terms::from(client)),
    ]
}

#[test]
fn carries_megabytes_over_tcp_in_user_space() {
    let [mut server, mut client] = engines();
    let address = server.listen("10.77.0.1:0".parse().unwrap()).unwrap();
    let near = client.connect(address, None).unwrap();
    let data: Vec<u8> = (0..BYTES).map(|i| (i * 31 + i / 251) as u8).collect();
    let (mut far, mut sent, mut came, mut events) = (None, 0, Vec::new(), Vec::new());
    let deadline = clock::now() + Nanos::from_millis(60_000);
    while came.len() < BYTES {
        assert!(clock::now() < deadline, "{} bytes came", came.len());
        server.poll(Nanos::ZERO, &mut events).unwrap();
        for &event in &events {
            match event {
                Event::Accepted(conn) => far = Some(conn),
                Event::Closed(_, reason) => panic!("{reason}"),
                _ => {}
            }
        }
        if let Some(conn) = far.filter(|conn| sent < BYTES && server.queued(*conn) == 0) {
            sent += server.send(conn, &[&data[sent..]]);
        }
        client.poll(Nanos::ZERO, &mut events).unwrap();
        for &event in &events {
            match event {
                Event::Readable(conn) => {
                    let view = client.receive(conn);
                    came.extend_from_slice(view);
                    let n = view.len();
                    client.consume(conn, n);
                }
                Event::Closed(_, reason) => panic!("{reason}"),
                _ => {}
            }
        }
    }
    assert!(came == data, "other bytes came");
    assert!(client.security(near).is_some());
    let beneath = client.statistics().tls.unwrap().received_bytes;
    assert!(beneath > BYTES as u64, "{beneath} bytes of ciphertext");
}

/// Polls both until they have nothing more to say to each other; returns the client's and the server's.
fn settle(server: &mut Tls<UserStack<Ring>>, client: &mut Tls<UserStack<Ring>>) -> (Vec<Event>, Vec<Event>) {
    let (mut near, mut far, mut events) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..200 {
        server.poll(Nanos::ZERO, &mut events).unwrap();
        far.append(&mut events);
        client.poll(Nanos::ZERO, &mut events).unwrap();
        near.append(&mut events);
    }
    (near, far)
}

#[test]
fn a_skip_is_told_to_be_done_before_the_end() {
    let [mut server, mut client] = engines();
    let address = server.listen("10.77.0.1:0".parse().unwrap()).unwrap();
    let near = client.connect(address, None).unwrap();
    let (_, accepted) = settle(&mut server, &mut client);
    let [Event::Accepted(far)] = accepted[..] else { panic!("{accepted:?}") };
    assert_eq!(server.send(far, &[b"skipped"]), 7);
    server.close(far);
    settle(&mut server, &mut client);
    // Nobody has looked at any of it, so what is skipped is decrypted only now, and the end with it.
    client.skip(near, 7);
    assert_eq!(client.skipping(near), 0);
    let (told, _) = settle(&mut server, &mut client);
    assert_eq!(told, [Event::Readable(near), Event::Eof(near)]);
}
