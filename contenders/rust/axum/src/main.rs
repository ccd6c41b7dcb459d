//! A server for hello, json, the database types and WebSockets with axum.

use std::env;
use std::error::Error;
use std::net::IpAddr;
use std::sync::Arc;

use askama::Template;
use axum::extract::ws::{Message as SocketMessage, WebSocket, WebSocketUpgrade};
use axum::extract::{Query, State};
use axum::http::header::{CONTENT_TYPE, SERVER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use axum::serve::ListenerExt;
use axum::{Json, Router};
use axum_server::accept::NoDelayAcceptor;
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use serde::Serialize;
use store::{Store, Wanted, World};
use tower_http::set_header::SetResponseHeaderLayer;

/// The longest message of a WebSocket, as with the other contenders.
const MESSAGE_BYTES: usize = 1 << 20;

#[derive(Serialize)]
struct Message {
    message: &'static str,
}

fn main() -> Result<(), Box<dyn Error>> {
    let workers: usize = env::var("WORKERS")?.parse()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build()?;
    runtime.block_on(serve(workers))
}

async fn serve(workers: usize) -> Result<(), Box<dyn Error>> {
    let mut app = Router::new()
        .route("/", get(async || text("hello")))
        .route("/plaintext", get(async || text("Hello, World!")))
        .route("/byte", get(async || text("!")))
        .route("/json", get(async || Json(Message { message: "Hello, World!" })))
        .route("/ws", get(socket));
    for (path, body) in store::bodies()? {
        app = app.route(&path, get(async move || text(body)));
    }
    if let Some(store) = Store::open(workers).await? {
        app = app.merge(database(store));
    }
    let app = app.layer(SetResponseHeaderLayer::overriding(SERVER, HeaderValue::from_static("axum")));
    let address: (IpAddr, u16) = (env::var("ADDRESS")?.parse()?, env::var("PORT")?.parse()?);
    if let Some(config) = tls::config()? {
        let config = RustlsConfig::from_config(Arc::new(config));
        let acceptor = RustlsAcceptor::new(config).acceptor(NoDelayAcceptor::new());
        let server = axum_server::bind(address.into()).acceptor(acceptor);
        return Ok(server.serve(app.into_make_service()).await?);
    }
    // Else the second answer of a pipeline waits for the acknowledgement of the first, which the other end delays.
    let listener = tokio::net::TcpListener::bind(address).await?.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            eprintln!("TCP_NODELAY: {error}");
        }
    });
    Ok(axum::serve(listener, app).await?)
}

fn text(body: &'static str) -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/plain")], body)
}

async fn socket(upgrade: WebSocketUpgrade) -> Response {
    upgrade.max_message_size(MESSAGE_BYTES).max_frame_size(MESSAGE_BYTES).on_upgrade(echo)
}

/// Gives every message back. Pings and close frames are answered by the library.
async fn echo(mut socket: WebSocket) {
    while let Some(Ok(message)) = socket.recv().await {
        let is_data = matches!(message, SocketMessage::Text(_) | SocketMessage::Binary(_));
        if is_data && socket.send(message).await.is_err() {
            return;
        }
    }
}

fn database(store: Store) -> Router {
    Router::new()
        .route("/db", get(one))
        .route("/queries", get(many))
        .route("/updates", get(update))
        .route("/cached-queries", get(cached))
        .route("/fortunes", get(fortunes))
        .with_state(store)
}

async fn one(State(store): State<Store>) -> Result<Json<World>, StatusCode> {
    store.one().await.map(Json).map_err(failed)
}

async fn many(
    State(store): State<Store>,
    Query(wanted): Query<Wanted>,
) -> Result<Json<Vec<World>>, StatusCode> {
    store.many(wanted.rows()).await.map(Json).map_err(failed)
}

async fn update(
    State(store): State<Store>,
    Query(wanted): Query<Wanted>,
) -> Result<Json<Vec<World>>, StatusCode> {
    store.update(wanted.rows()).await.map(Json).map_err(failed)
}

async fn cached(State(store): State<Store>, Query(wanted): Query<Wanted>) -> Json<Vec<World>> {
    Json(store.cached(wanted.rows()))
}

async fn fortunes(State(store): State<Store>) -> Result<Html<String>, StatusCode> {
    let page = store.fortunes().await.map_err(failed)?;
    page.render().map(Html).map_err(failed)
}

fn failed(error: impl Error) -> StatusCode {
    eprintln!("{error}");
    StatusCode::INTERNAL_SERVER_ERROR
}
