//! What lies between the network and those who speak: nothing, or TLS.

use assay_engine::Engine;
use assay_tls::{Client, ClientTerms, Made, Server, Terms, Tls, Trust};

/// A client and a server that trust each other.
#[derive(Clone)]
pub(crate) struct Pair {
    client: Client,
    server: Server,
}

impl Pair {
    pub(crate) fn make() -> Self {
        let name = "localhost".to_owned();
        let made = Made::new(std::slice::from_ref(&name)).unwrap();
        let trust = Trust::Pem(made.authority.clone());
        let (identity, resumption, ciphers) = (None, true, Vec::new());
        let terms = ClientTerms { server_name: name, trust, identity, resumption, ciphers };
        Self {
            client: Client::new(terms).unwrap(),
            server: Server::new(made.identity().unwrap()).unwrap().with_http2(),
        }
    }

    /// What both bring to a connection.
    pub(crate) fn terms(&self, is_http2: bool) -> Terms {
        let client = if is_http2 { self.client.with_http2() } else { self.client.clone() };
        Terms { client: Some(client), server: Some(self.server.clone()) }
    }
}

/// What lies over the network.
pub(crate) trait Layer {
    type Over<E: Engine>: Engine;

    fn over<E: Engine>(&self, engine: E) -> Self::Over<E>;
}

/// Nothing does.
pub(crate) struct Bare;

impl Layer for Bare {
    type Over<E: Engine> = E;

    fn over<E: Engine>(&self, engine: E) -> E {
        engine
    }
}

impl Layer for Terms {
    type Over<E: Engine> = Tls<E>;

    fn over<E: Engine>(&self, engine: E) -> Tls<E> {
        Tls::new(engine, self)
    }
}
