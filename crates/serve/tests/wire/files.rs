//! Static files.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime};

use assay_engine::EngineKind;
use assay_serve::{Config, Limits};

use crate::support::{Running, config, statuses};

on_each_engine!(
    files_are_served_from_the_folder_and_only_from_there,
    precompressed_siblings_are_representations_of_their_own,
    folders_have_an_index_and_a_slash,
    conditions_are_judged_in_their_order,
);

fn files_are_served_from_the_folder_and_only_from_there(engine: EngineKind) {
    let outside = tempfile::tempdir().unwrap();
    let root = outside.path().join("root");
    std::fs::create_dir(&root).unwrap();
    std::fs::write(outside.path().join("secret"), "secret").unwrap();
    std::fs::write(root.join("index.html"), "<p>index").unwrap();
    let large: Vec<u8> = (0..3_000_000u32).map(|i| b'a' + (i % 26) as u8).collect();
    std::fs::write(root.join("large.txt"), &large).unwrap();
    let server = Running::with(Config { root: Some(root), ..config(engine, Limits::default()) });
    let get = |target: &str| server.exchange(format!("GET {target} HTTP/1.1\r\nHost: h\r\n\r\n").as_bytes());
    assert!(get("/").ends_with("\r\n\r\n<p>index"));
    let answer = get("/large.txt");
    let body = answer.split_once("\r\n\r\n").unwrap().1;
    assert!(body.as_bytes() == large);
    for target in ["/../secret", "/%2e%2e/secret", "/%2e%2e%2fsecret", "/..", "/x/%2e./../secret"] {
        let answer = get(target);
        assert!(answer.starts_with("HTTP/1.1 40") && !answer.ends_with("secret"), "{target}: {answer}");
    }
}

/// A server of a folder, and what it answers.
struct Shop {
    folder: tempfile::TempDir,
    server: Running,
}

impl Shop {
    fn new(engine: EngineKind) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = Some(folder.path().to_path_buf());
        let server = Running::with(Config { root, ..config(engine, Limits::default()) });
        Self { folder, server }
    }

    fn put(&self, name: &str, content: &str) {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        date_back(&path);
    }

    fn ask(&self, method: &str, target: &str, fields: &str) -> String {
        self.server.exchange(format!("{method} {target} HTTP/1.1\r\nHost: h\r\n{fields}\r\n").as_bytes())
    }
}

/// A time of modification that does not depend on when the test runs: 2001-09-09 01:46:40.
fn date_back(path: &Path) {
    let file = File::options().write(true).open(path).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)).unwrap();
}

fn field<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    answer
        .lines()
        .take_while(|line| !line.is_empty())
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").unwrap().1
}

pub(crate) fn precompressed_siblings_are_representations_of_their_own(engine: EngineKind) {
    let shop = Shop::new(engine);
    shop.put("a.css", "plain");
    shop.put("a.css.gz", "gzipped");
    shop.put("a.css.br", "brotli");
    let plain = shop.ask("GET", "/a.css", "");
    assert_eq!((body(&plain), field(&plain, "Content-Encoding")), ("plain", None));
    let mut tags = vec![field(&plain, "ETag").unwrap().to_owned()];
    for (accepts, coding, content) in [
        ("gzip", "gzip", "gzipped"),
        ("gzip;q=0.5, br", "br", "brotli"),
        ("*;q=0, gzip;q=0.1", "gzip", "gzipped"),
    ] {
        let accept = format!("Accept-Encoding: {accepts}\r\n");
        let answer = shop.ask("GET", "/a.css", &accept);
        assert_eq!((body(&answer), field(&answer, "Content-Encoding")), (content, Some(coding)), "{accepts}");
        assert_eq!(field(&answer, "Content-Type"), Some("text/css; charset=utf-8"));
        assert_eq!(field(&answer, "Vary"), Some("Accept-Encoding"));
        let tag = field(&answer, "ETag").unwrap();
        let again = shop.ask("GET", "/a.css", &format!("{accept}If-None-Match: {tag}\r\n"));
        assert_eq!(statuses(&again), [304]);
        assert_eq!((field(&again, "ETag"), field(&again, "Vary")), (Some(tag), Some("Accept-Encoding")));
        let part = shop.ask("GET", "/a.css", &format!("{accept}Range: bytes=1-2\r\nIf-Range: {tag}\r\n"));
        assert_eq!((statuses(&part), body(&part)), (vec![206], &content[1..3]));
        assert_eq!(statuses(&shop.ask("GET", "/a.css", &format!("If-Match: {tag}\r\n"))), [412]);
        let head = shop.ask("HEAD", "/a.css", &accept);
        assert_eq!((body(&head), field(&head, "Content-Length")), ("", Some(&*content.len().to_string())));
        tags.push(tag.to_owned());
    }
    tags.sort();
    tags.dedup();
    assert_eq!(tags.len(), 3, "a tag for each coding: {tags:?}");
    let refused = shop.ask("GET", "/a.css", "Accept-Encoding: zstd, identity;q=0\r\n");
    assert_eq!((statuses(&refused), field(&refused, "Vary")), (vec![406], Some("Accept-Encoding")));
}

pub(crate) fn folders_have_an_index_and_a_slash(engine: EngineKind) {
    let shop = Shop::new(engine);
    shop.put("index.html", "top");
    shop.put("sub/index.html", "below");
    shop.put("empty/x.bin", "x");
    assert_eq!(body(&shop.ask("GET", "/", "")), "top");
    assert_eq!(body(&shop.ask("GET", "/sub/?query", "")), "below");
    for (target, location) in [
        ("/sub", "/sub/"),
        ("/sub?a=b&c=http://elsewhere/", "/sub/?a=b&c=http://elsewhere/"),
        ("//sub", "/sub/"),
        ("///elsewhere/..//sub", "/sub/"),
        ("http://elsewhere/sub", "/sub/"),
    ] {
        for method in ["GET", "HEAD"] {
            let answer = shop.ask(method, target, "");
            assert_eq!(
                (statuses(&answer), field(&answer, "Location")),
                (vec![301], Some(location)),
                "{target}"
            );
        }
    }
    assert_eq!(statuses(&shop.ask("GET", "/empty/", "")), [404]);
    assert_eq!(statuses(&shop.ask("GET", "//elsewhere", "")), [404]);
    assert_eq!(statuses(&shop.ask("POST", "/sub", "")), [405]);
}

pub(crate) fn conditions_are_judged_in_their_order(engine: EngineKind) {
    let shop = Shop::new(engine);
    shop.put("a.txt", "0123456789");
    let whole = shop.ask("GET", "/a.txt", "");
    let tag = field(&whole, "ETag").unwrap();
    let modified = "Sun, 09 Sep 2001 01:46:40 GMT";
    assert_eq!(field(&whole, "Last-Modified"), Some(modified));
    let earlier = "Sun, 09 Sep 2001 01:46:39 GMT";
    for (fields, expected) in [
        (format!("If-None-Match: {tag}\r\n"), 304),
        (format!("If-None-Match: \"x\", W/{tag}\r\n"), 304),
        (format!("If-None-Match: \"x\"\r\nIf-None-Match: {tag}\r\n"), 304),
        ("If-None-Match: *\r\n".into(), 304),
        (format!("If-None-Match: \"x\"\r\nIf-Modified-Since: {modified}\r\n"), 200),
        (format!("If-Modified-Since: {modified}\r\n"), 304),
        ("If-Modified-Since: Sunday, 09-Sep-01 01:46:40 GMT\r\n".into(), 304),
        (format!("If-Modified-Since: {earlier}\r\n"), 200),
        ("If-Modified-Since: yesterday\r\n".into(), 200),
        (format!("If-Match: {tag}\r\n"), 200),
        ("If-Match: *\r\n".into(), 200),
        (format!("If-Match: W/{tag}\r\n"), 412),
        (format!("If-Match: \"x\"\r\nIf-None-Match: {tag}\r\n"), 412),
        (format!("If-Unmodified-Since: {modified}\r\n"), 200),
        (format!("If-Unmodified-Since: {earlier}\r\n"), 412),
        (format!("If-Match: {tag}\r\nIf-Unmodified-Since: {earlier}\r\n"), 200),
        ("Range: bytes=2-4\r\n".into(), 206),
        (format!("Range: bytes=2-4\r\nIf-Range: {tag}\r\n"), 206),
        (format!("Range: bytes=2-4\r\nIf-Range: {modified}\r\n"), 206),
        (format!("Range: bytes=2-4\r\nIf-Range: W/{tag}\r\n"), 200),
        (format!("Range: bytes=2-4\r\nIf-Range: {earlier}\r\n"), 200),
        (format!("Range: bytes=2-4\r\nIf-None-Match: {tag}\r\n"), 304),
        ("Range: bytes=10-\r\n".into(), 416),
        // Several ranges are not served, overlapping or not: the whole is never more than what was asked for.
        ("Range: bytes=0-1,4-5\r\n".into(), 200),
        (format!("Range: bytes={}\r\n", ["0-"; 500].join(",")), 200),
    ] {
        let answer = shop.ask("GET", "/a.txt", &fields);
        assert_eq!(statuses(&answer), [expected], "{fields:.100}");
        let content = match expected {
            200 => "0123456789",
            206 => "234",
            304 | 416 => "",
            _ => body(&answer),
        };
        assert_eq!(body(&answer), content, "{fields:.100}");
    }
    assert_eq!(
        field(&shop.ask("GET", "/a.txt", "Range: bytes=10-\r\n"), "Content-Range"),
        Some("bytes */10")
    );
}
