use std::io::{Read, Write};
use std::sync::mpsc::channel;

use super::*;
use crate::stub::BODY;

/// Asks a server with a fault twice on one connection, which it may close after the first answer; returns what came, and that the server
/// ended when it was to.
fn asked(fault: Fault) -> String {
    let (stop, (told, address)) = (AtomicBool::new(false), channel());
    std::thread::scope(|scope| {
        let cpus = assay_host::cpuset::allowed();
        let stop = &stop;
        let server = scope.spawn(move || {
            run(([127, 0, 0, 1], 0).into(), &cpus, fault, stop, |at| told.send(at).expect("a listener"))
        });
        let mut stream = TcpStream::connect(address.recv().expect("an address")).expect("connected");
        // In one piece and in two, and then something else.
        stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HT").expect("sent");
        stream.write_all(b"TP/1.1\r\nHost: a\r\n\r\nPOST / HTTP/1.1\r\n\r\n").expect("sent");
        let mut came = String::new();
        stream.read_to_string(&mut came).expect("two answers, and the end");
        stop.store(true, Ordering::Relaxed);
        server.join().expect("no panic").expect("served");
        came
    })
}

#[test]
fn whatever_it_does_wrongly_it_answers_rightly() {
    for (fault, name) in Fault::ALL {
        let came = asked(fault);
        let answers = if fault == Fault::AcceptQueue { 1 } else { 2 };
        assert_eq!(came.matches("HTTP/1.1 200 OK\r\n").count(), answers, "{name}: {came}");
        assert!(came.matches(BODY).count() >= answers, "{name}: {came}");
        assert_eq!((name.parse(), fault.name()), (Ok(fault), name));
    }
    assert!("nothing".parse::<Fault>().is_err_and(|why| why.contains("lock, accept-queue")));
}
