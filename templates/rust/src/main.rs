//! A server for the workloads hello and json.

use std::env;
use std::error::Error;
use std::net::IpAddr;

use axum::http::HeaderValue;
use axum::http::header::{CONTENT_TYPE, SERVER};
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Json, Router};
use serde::Serialize;
use tower_http::set_header::SetResponseHeaderLayer;

#[derive(Serialize)]
struct Message {
    message: &'static str,
}

fn main() -> Result<(), Box<dyn Error>> {
    let workers: usize = env::var("WORKERS")?.parse()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build()?;
    runtime.block_on(serve())
}

async fn serve() -> Result<(), Box<dyn Error>> {
    let app = Router::new()
        .route("/", get(hello))
        .route("/json", get(greet))
        .layer(SetResponseHeaderLayer::overriding(SERVER, HeaderValue::from_static("axum")));
    let address: (IpAddr, u16) = (env::var("ADDRESS")?.parse()?, env::var("PORT")?.parse()?);
    let listener = tokio::net::TcpListener::bind(address).await?;
    Ok(axum::serve(listener, app).await?)
}

async fn hello() -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/plain")], "hello")
}

async fn greet() -> Json<Message> {
    Json(Message { message: "Hello, World!" })
}
