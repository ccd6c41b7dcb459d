//! A page and its news over real sockets: for whom, in which order, and not while it is hushed.
#![allow(clippy::unwrap_used, reason = "a helper may fail as loudly as the test that calls it")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use assay_live::{Edition, LivePage};

/// Longest wait for what must come.
const PATIENCE: Duration = Duration::from_secs(60);
/// Most connections that are served at once.
const MOST_CLIENTS: usize = 32;

const FIRST: Edition<'_> = Edition { html: "<p>first</p>", update: "{\"edition\":1}" };
const SECOND: Edition<'_> = Edition { html: "<p>second</p>", update: "{\"edition\":2}" };
const LAST: Edition<'_> = Edition { html: "<p>last</p>", update: "{\"edition\":3}" };

fn serve(first: &Edition<'_>) -> LivePage {
    let page = LivePage::begin(0).unwrap();
    page.show(first).unwrap();
    page
}

/// Host with port, and the path of the page.
fn place(page: &LivePage) -> (String, String) {
    let rest = page.address().strip_prefix("http://").unwrap();
    let (host, path) = rest.split_once('/').unwrap();
    (host.to_owned(), format!("/{path}"))
}

fn connect(page: &LivePage) -> TcpStream {
    let stream = TcpStream::connect(place(page).0).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// A connection that has asked for something below the page.
fn asking(page: &LivePage, below: &str) -> TcpStream {
    let (host, path) = place(page);
    let mut stream = connect(page);
    write!(stream, "GET {path}{below} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    stream
}

fn whole(mut stream: TcpStream) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// The events of a page, one after the other: kind and text.
struct Events(BufReader<TcpStream>);

impl Events {
    fn of(page: &LivePage) -> Self {
        Self(BufReader::new(asking(page, "events")))
    }

    /// `None` when there will be no more.
    fn next(&mut self) -> Option<(String, String)> {
        let mut kind = None;
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            if let Some(of) = line.strip_prefix("event: ") {
                kind = Some(of.trim_end().to_owned());
            } else if let (Some(kind), Some(text)) = (&kind, line.strip_prefix("data: ")) {
                return Some((kind.clone(), text.trim_end().to_owned()));
            }
        }
    }
}

fn told(kind: &str, text: &str) -> Option<(String, String)> {
    Some((kind.to_owned(), text.to_owned()))
}

#[test]
fn the_page_is_for_who_knows_its_address_and_for_nobody_else() {
    let page = serve(&FIRST);
    let (host, path) = place(&page);
    assert!(host.starts_with("127.0.0.1:"), "{host}");
    let answer = whole(asking(&page, ""));
    assert!(
        answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\n<p>first</p>"),
        "{answer}"
    );
    for field in ["Cache-Control: no-store", "Referrer-Policy: no-referrer", "frame-ancestors 'none'"] {
        assert!(answer.contains(field), "{field}: {answer}");
    }
    for (request, status) in [
        (format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"), 404),
        (format!("GET {path} HTTP/1.1\r\nHost: evil.example\r\n\r\n"), 421),
        (format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://evil.example\r\n\r\n"), 403),
        (format!("DELETE {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"), 405),
        ("nonsense\r\n\r\n".to_owned(), 400),
    ] {
        let mut stream = connect(&page);
        stream.write_all(request.as_bytes()).unwrap();
        let answer = whole(stream);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request}: {answer}");
        assert!(!answer.contains("first"), "{answer}");
    }
    assert_ne!(path, place(&serve(&FIRST)).1, "each has a token of its own");
}

#[test]
fn who_watches_gets_every_edition_the_words_and_the_end() {
    let page = serve(&FIRST);
    let mut events = Events::of(&page);
    assert_eq!(events.next(), told("edition", FIRST.update));
    page.say("round 1 of 2");
    assert_eq!(events.next(), told("words", "round 1 of 2"));
    page.show(&SECOND).unwrap();
    assert_eq!(events.next(), told("edition", SECOND.update));
    let mut later = Events::of(&page);
    assert_eq!(later.next(), told("words", "round 1 of 2"));
    assert_eq!(later.next(), told("edition", SECOND.update));
    page.end(&LAST).unwrap();
    for watcher in [&mut events, &mut later] {
        assert_eq!(watcher.next(), told("end", LAST.update));
        assert_eq!(watcher.next(), None);
    }
}

#[test]
fn while_it_is_hushed_nothing_is_read_or_sent_and_the_newest_comes_after() {
    let page = serve(&FIRST);
    let mut events = Events::of(&page);
    assert_eq!(events.next(), told("edition", FIRST.update));
    page.hush();
    let asked = asking(&page, "");
    page.say("not told");
    page.show(&SECOND).unwrap();
    page.say("told");
    page.show(&LAST).unwrap();
    page.speak();
    assert_eq!(events.next(), told("words", "told"));
    assert_eq!(events.next(), told("edition", LAST.update), "the one between was never sent");
    assert!(whole(asked).ends_with("<p>last</p>"), "it was not answered before");
}

#[test]
fn what_was_said_before_a_silence_is_sent_before_it() {
    let page = serve(&FIRST);
    let mut events = Events::of(&page);
    assert_eq!(events.next(), told("edition", FIRST.update));
    page.say("one window is over");
    page.hush();
    assert_eq!(events.next(), told("words", "one window is over"));
}

#[test]
fn nobody_is_answered_before_there_is_a_page_and_an_end_without_one_is_an_end() {
    let page = LivePage::begin(0).unwrap();
    let asked = asking(&page, "");
    page.say("building");
    page.show(&FIRST).unwrap();
    assert!(whole(asked).ends_with("<p>first</p>"));
    let never = LivePage::begin(0).unwrap();
    let address = place(&never).0;
    drop(never);
    assert!(TcpStream::connect(address).is_err(), "nobody listens any more");
}

#[test]
fn connections_beyond_the_limit_wait_until_one_is_over() {
    let page = serve(&FIRST);
    let mut watching: Vec<Events> = (0..MOST_CLIENTS).map(|_| Events::of(&page)).collect();
    for events in &mut watching {
        assert_eq!(events.next(), told("edition", FIRST.update));
    }
    let one_more = asking(&page, "");
    // Whoever watches has this only after a turn in which the one more would have been accepted.
    page.show(&SECOND).unwrap();
    for events in &mut watching {
        assert_eq!(events.next(), told("edition", SECOND.update));
    }
    page.show(&LAST).unwrap();
    drop(watching.pop());
    assert!(whole(one_more).ends_with("<p>last</p>"), "it was not answered before");
}

#[test]
fn it_ends_although_somebody_takes_nothing() {
    let large = "x".repeat(32 << 20);
    let page = serve(&Edition { html: "", update: &large });
    let mut stuck = Events::of(&page);
    let mut line = String::new();
    stuck.0.read_line(&mut line).unwrap();
    assert!(line.starts_with("HTTP/1.1 200"), "{line}");
    let address = place(&page).0;
    page.end(&LAST).unwrap();
    assert!(TcpStream::connect(address).is_err(), "nobody listens any more");
}

#[test]
fn a_port_that_is_taken_is_told_with_its_number() {
    let page = serve(&FIRST);
    let port = place(&page).0.rsplit(':').next().unwrap().parse().unwrap();
    let error = LivePage::begin(port).unwrap_err().to_string();
    assert!(error.contains(&format!("port {port}")) && error.contains("another port"), "{error}");
}

#[test]
fn whoever_sends_without_end_holds_up_nobody_and_is_left() {
    let page = serve(&FIRST);
    let greedy: Vec<_> = (0..4)
        .map(|_| {
            let mut stream = connect(&page);
            stream.set_write_timeout(Some(PATIENCE)).unwrap();
            let piece = vec![b'y'; 64 << 10];
            std::thread::spawn(move || while stream.write_all(&piece).is_ok() {})
        })
        .collect();
    let (done, over) = std::sync::mpsc::channel();
    let hushing = std::thread::spawn(move || {
        for _ in 0..20 {
            page.hush();
            page.speak();
        }
        done.send(()).unwrap();
        page
    });
    over.recv_timeout(PATIENCE).expect("the page is hushed while others send");
    let page = hushing.join().unwrap();
    greedy.into_iter().for_each(|sender| sender.join().unwrap());
    assert!(whole(asking(&page, "")).contains("<p>first</p>"), "it serves on");
}
