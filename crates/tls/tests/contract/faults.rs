//! Every way in which a connection cannot be secured has its own name, and nothing hangs.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::thread::spawn;

use assay_engine::{Config, Conn, Engine, Epoll, Event, Reason, clock};
use assay_model::tls::TlsFault;
use assay_model::units::Nanos;
use assay_tls::{Client, ClientTerms, Identity, Made, Server, Terms, Tls, Trust};
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, KeyPair, date_time_ymd};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};

type Secured = StreamOwned<ServerConnection, TcpStream>;

/// A certificate in a folder of its own, as its owner and those who trust it need it.
struct Files {
    folder: tempfile::TempDir,
    made: Made,
}

impl Files {
    fn new(name: &str) -> Self {
        Self::of(Made::new(&[name.to_owned()]).unwrap())
    }

    /// A certificate for localhost, which is its own authority, valid between two years.
    fn between(from: i32, to: i32) -> Self {
        Self::signing_itself(|params| {
            (params.not_before, params.not_after) = (date_time_ymd(from, 1, 1), date_time_ymd(to, 1, 1));
        })
    }

    /// A certificate for localhost, which is its own authority, with changes.
    fn signing_itself(change: impl FnOnce(&mut CertificateParams)) -> Self {
        let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap().pem();
        Self::of(Made { authority: certificate.clone(), certificate, key: key.serialize_pem() })
    }

    fn of(made: Made) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [("ca", &made.authority), ("cert", &made.certificate), ("key", &made.key)] {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        Self { folder, made }
    }

    fn file(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    /// A client that trusts whoever issued this certificate.
    fn client(&self) -> Client {
        client(&self.file("ca"), None)
    }

    fn server(&self, change: impl FnOnce(&mut ServerConfig)) -> Arc<ServerConfig> {
        let builder = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
        let mut config = builder.with_single_cert(self.chain(), self.key()).unwrap();
        change(&mut config);
        Arc::new(config)
    }

    fn chain(&self) -> Vec<CertificateDer<'static>> {
        vec![CertificateDer::from_pem_slice(self.made.certificate.as_bytes()).unwrap()]
    }

    fn key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::from_pem_slice(self.made.key.as_bytes()).unwrap()
    }
}

fn client(authority: &Path, identity: Option<Identity>) -> Client {
    let trust = Trust::Authorities(authority.to_owned());
    let server_name = "localhost".to_owned();
    Client::new(ClientTerms { server_name, trust, identity, resumption: true, ciphers: Vec::new() }).unwrap()
}

/// Listens, and does this with the first connection.
fn listening(act: impl FnOnce(TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    spawn(move || act(listener.accept().unwrap().0));
    address
}

/// A server over TLS that does something with its first connection.
fn listening_with(config: Arc<ServerConfig>, act: impl FnOnce(Secured) + Send + 'static) -> SocketAddr {
    listening(move |transport| act(StreamOwned::new(ServerConnection::new(config).unwrap(), transport)))
}

/// Reads until the other side ends.
fn read_on(mut stream: impl Read) {
    let _ = stream.read_to_end(&mut Vec::new());
}

/// Connects, and goes on until the connection is closed; returns what came, and why it ended.
fn end_of(client: &Client, address: SocketAddr) -> (Vec<u8>, Reason) {
    let mut engine = Tls::new(Epoll::new(Config { max_connections: 4 }).unwrap(), &client.clone().into());
    let conn = engine.connect(address, None).unwrap();
    let mut came = Vec::new();
    let end = until(&mut engine, |engine, event| match event {
        Event::Connected(conn) => {
            assert_eq!(engine.send(conn, &[b"hello"]), 5);
            None
        }
        Event::Readable(conn) => {
            let view = engine.receive(conn);
            came.extend_from_slice(view);
            let n = view.len();
            engine.consume(conn, n);
            None
        }
        Event::Closed(closed, reason) => {
            assert_eq!(closed, conn);
            Some(reason)
        }
        other => panic!("{other:?}"),
    });
    assert_eq!(engine.connections(), 0);
    (came, end)
}

fn until<E: Engine, T>(engine: &mut E, mut wanted: impl FnMut(&mut E, Event) -> Option<T>) -> T {
    let deadline = clock::now() + Nanos::from_millis(20_000);
    let mut events = Vec::new();
    loop {
        assert!(engine.poll(deadline, &mut events).unwrap() < deadline, "the event never came");
        for &event in &events {
            if let Some(found) = wanted(engine, event) {
                return found;
            }
        }
    }
}

fn fault_of(client: &Client, address: SocketAddr) -> TlsFault {
    match end_of(client, address).1 {
        Reason::Tls(fault) => fault,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_certificate_for_another_name_is_refused() {
    let files = Files::new("other.example");
    let address = listening_with(files.server(|_| {}), read_on);
    assert_eq!(fault_of(&files.client(), address), TlsFault::WrongName);
}

#[test]
fn a_certificate_of_an_unknown_issuer_is_refused() {
    let (files, others) = (Files::new("localhost"), Files::new("localhost"));
    let address = listening_with(files.server(|_| {}), read_on);
    assert_eq!(fault_of(&others.client(), address), TlsFault::UnknownIssuer);
}

/// The certificate's signature is not by the key of whoever is trusted under that name, as Debian's own certificate for localhost may be.
#[test]
fn a_certificate_that_signs_itself_is_of_an_unknown_issuer_though_its_name_is_trusted() {
    let (files, others) = (Files::signing_itself(|_| {}), Files::signing_itself(|_| {}));
    let address = listening_with(files.server(|_| {}), read_on);
    assert_eq!(fault_of(&others.client(), address), TlsFault::UnknownIssuer);
}

#[test]
fn a_certificate_outside_of_its_time_is_refused() {
    for (from, to, wanted) in [(2001, 2002, TlsFault::Expired), (2998, 2999, TlsFault::NotYetValid)] {
        let files = Files::between(from, to);
        let address = listening_with(files.server(|_| {}), read_on);
        assert_eq!(fault_of(&files.client(), address), wanted);
    }
}

#[test]
fn a_certificate_that_is_none_of_a_server_is_refused_with_the_reason() {
    let authority = Files::signing_itself(|params| params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained));
    let others = Files::signing_itself(|params| {
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::CodeSigning];
    });
    for (files, wanted) in [(authority, TlsFault::AuthorityCertificate), (others, TlsFault::OtherPurpose)] {
        let address = listening_with(files.server(|_| {}), read_on);
        assert_eq!(fault_of(&files.client(), address), wanted);
    }
    let told = TlsFault::AuthorityCertificate.to_string();
    assert!(told.contains("-addext basicConstraints=critical,CA:FALSE"), "{told}");
}

#[test]
fn a_server_that_speaks_none_of_our_protocols_is_named_as_such() {
    let files = Files::new("localhost");
    let address =
        listening_with(files.server(|config| config.alpn_protocols = vec![b"h2".to_vec()]), read_on);
    assert_eq!(fault_of(&files.client(), address), TlsFault::NoProtocol);
}

#[test]
fn a_server_that_wants_a_certificate_gets_it_or_says_so() {
    let (files, ours) = (Files::new("localhost"), Files::new("client.example"));
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(ours.made.authority.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build();
    let builder =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let builder = builder.with_client_cert_verifier(verifier.unwrap());
    let config = Arc::new(builder.with_single_cert(files.chain(), files.key()).unwrap());

    let address = listening_with(Arc::clone(&config), read_on);
    assert_eq!(fault_of(&files.client(), address), TlsFault::CertificateWanted);

    let identity = Identity::read(&ours.file("cert"), &ours.file("key")).unwrap();
    let address = listening_with(config, |mut stream| {
        stream.read_exact(&mut [0; 5]).unwrap();
        stream.write_all(b"welcome").unwrap();
    });
    let (came, end) = end_of(&client(&files.file("ca"), Some(identity)), address);
    assert_eq!((&came[..], end), (&b"welcome"[..], Reason::Tls(TlsFault::Truncated)));
}

#[test]
fn a_server_without_tls_is_named_as_such() {
    let files = Files::new("localhost");
    let address = listening(|mut stream| {
        let _ = stream.read(&mut [0; 1024]);
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").unwrap();
        read_on(stream);
    });
    assert_eq!(fault_of(&files.client(), address), TlsFault::NotTls);
}

#[test]
fn a_server_that_closes_in_the_handshake_is_named_as_such() {
    let files = Files::new("localhost");
    // Once in the ordinary way, once with a reset, as bytes are left unread.
    let ordinary = listening(|mut stream| drop(stream.read(&mut [0; 4096])));
    let reset = listening(|mut stream| drop(stream.read(&mut [0; 1])));
    for address in [ordinary, reset] {
        assert_eq!(fault_of(&files.client(), address), TlsFault::ClosedInHandshake);
    }
}

#[test]
fn an_end_that_nobody_announced_is_no_ordinary_end() {
    let files = Files::new("localhost");
    let address = listening_with(files.server(|_| {}), |mut stream| {
        stream.read_exact(&mut [0; 5]).unwrap();
        stream.write_all(b"half of it").unwrap();
    });
    let (came, end) = end_of(&files.client(), address);
    assert_eq!((&came[..], end), (&b"half of it"[..], Reason::Tls(TlsFault::Truncated)));
}

#[test]
fn what_does_not_decrypt_ends_the_connection() {
    let files = Files::new("localhost");
    let address = listening_with(files.server(|_| {}), |mut stream| {
        stream.read_exact(&mut [0; 5]).unwrap();
        stream.write_all(b"right").unwrap();
        stream.sock.write_all(&[0x17, 3, 3, 0, 32]).unwrap();
        stream.sock.write_all(&[7; 32]).unwrap();
        read_on(stream.sock);
    });
    let (came, end) = end_of(&files.client(), address);
    assert_eq!((&came[..], end), (&b"right"[..], Reason::Tls(TlsFault::Broken)));
}

#[test]
fn sessions_are_resumed_unless_they_are_not_to_be() {
    let files = Files::new("localhost");
    let server = Server::new(Identity::read(&files.file("cert"), &files.file("key")).unwrap()).unwrap();
    for resumption in [true, false] {
        let trust = Trust::Authorities(files.file("ca"));
        let terms = ClientTerms {
            server_name: "localhost".to_owned(),
            trust,
            identity: None,
            resumption,
            ciphers: Vec::new(),
        };
        let terms = Terms { client: Some(Client::new(terms).unwrap()), server: Some(server.clone()) };
        // Both sides of its connections are the same engine's.
        let mut engine = Tls::new(Epoll::new(Config { max_connections: 8 }).unwrap(), &terms);
        let address = engine.listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let kinds: Vec<bool> = (0..3).map(|_| is_resumed(&mut engine, address)).collect();
        assert_eq!(kinds, [false, resumption, resumption]);
        let tls = engine.statistics().tls.unwrap();
        let resumed = if resumption { 4 } else { 0 };
        assert_eq!((tls.full, tls.resumed, tls.failed), (6 - resumed, resumed, 0));
    }
}

/// Exchanges a few bytes with ourselves over a new connection; returns whether it resumed a session.
fn is_resumed<E: Engine>(engine: &mut E, address: SocketAddr) -> bool {
    let near: Conn = engine.connect(address, None).unwrap();
    let answer = until(engine, |engine, event| match event {
        Event::Accepted(far) => {
            assert_eq!(engine.send(far, &[b"welcome"]), 7);
            None
        }
        Event::Readable(conn) if conn == near => Some(engine.receive(conn).to_vec()),
        _ => None,
    });
    assert_eq!(answer, b"welcome");
    let security = engine.security(near).unwrap();
    assert_eq!((security.parameters.version, security.parameters.protocol), ("TLS 1.3", Some("http/1.1")));
    assert_eq!(security.parameters.key.unwrap().to_string(), "ECDSA P-256");
    engine.close(near);
    security.is_resumed
}
