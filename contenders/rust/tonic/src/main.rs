//! Gives a text back, or greets, with tonic.

use std::env;
use std::error::Error;
use std::net::{IpAddr, SocketAddr};

use tonic::transport::{Identity, Server, ServerTlsConfig};
use tonic::{Request, Response, Status};

mod assay {
    include!(concat!(env!("OUT_DIR"), "/assay.Echo.rs"));
}

use assay::echo_server::{Echo, EchoServer};

struct Answers;

#[tonic::async_trait]
impl Echo for Answers {
    async fn say(&self, text: Request<String>) -> Result<Response<String>, Status> {
        Ok(Response::new(text.into_inner()))
    }

    async fn hello(&self, name: Request<String>) -> Result<Response<String>, Status> {
        let name = name.into_inner();
        let name = if name.is_empty() { "World" } else { &name };
        Ok(Response::new(format!("Hello, {name}!")))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let workers: usize = env::var("WORKERS")?.parse()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build()?;
    runtime.block_on(serve())
}

async fn serve() -> Result<(), Box<dyn Error>> {
    let address: (IpAddr, u16) = (env::var("ADDRESS")?.parse()?, env::var("PORT")?.parse()?);
    let mut server = Server::builder();
    if let Some(certificate) = env::var("CERT").ok().filter(|file| !file.is_empty()) {
        let identity = Identity::from_pem(std::fs::read(certificate)?, std::fs::read(env::var("KEY")?)?);
        server = server.tls_config(ServerTlsConfig::new().identity(identity))?;
    }
    Ok(server.add_service(EchoServer::new(Answers)).serve(SocketAddr::from(address)).await?)
}
