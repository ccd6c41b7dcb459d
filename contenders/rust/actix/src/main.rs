//! A server for hello, json, the database types and WebSockets with Actix Web.

use std::env;
use std::error::Error;

use actix_web::error::ErrorInternalServerError;
use actix_web::middleware::DefaultHeaders;
use actix_web::web::{Data, Html, Json, Payload, Query, ServiceConfig, get as on_get};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, get, rt};
use actix_ws::{AggregatedMessage, AggregatedMessageStream, Session};
use askama::Template;
use serde::Serialize;
use store::{Store, Wanted, World};

/// The longest message of a WebSocket, as with the other contenders.
const MESSAGE_BYTES: usize = 1 << 20;

#[derive(Serialize)]
struct Message {
    message: &'static str,
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let workers: usize = env::var("WORKERS")?.parse()?;
    let store = Store::open(workers).await?.map(Data::new);
    let bodies = store::bodies()?;
    let app = move || {
        let mut app = App::new().wrap(DefaultHeaders::new().add(("Server", "actix"))).configure(plain);
        for (path, body) in bodies.iter().cloned() {
            app = app.route(&path, on_get().to(async move || text(body)));
        }
        match &store {
            Some(store) => app.app_data(store.clone()).configure(database),
            None => app,
        }
    };
    let address: (String, u16) = (env::var("ADDRESS")?, env::var("PORT")?.parse()?);
    let server = HttpServer::new(app).workers(workers);
    let server = match tls::config()? {
        Some(config) => server.bind_rustls_0_23(address, config)?,
        None if env::var("PROTOCOL").is_ok_and(|protocol| protocol == "h2c") => {
            server.bind_auto_h2c(address)?
        }
        None => server.bind(address)?,
    };
    Ok(server.run().await?)
}

fn plain(routes: &mut ServiceConfig) {
    routes
        .route("/", on_get().to(async || text("hello")))
        .route("/plaintext", on_get().to(async || text("Hello, World!")))
        .route("/byte", on_get().to(async || text("!")))
        .service(json)
        .service(socket);
}

fn database(routes: &mut ServiceConfig) {
    routes.service(one).service(many).service(update).service(cached).service(fortunes);
}

fn text(body: &'static str) -> HttpResponse {
    HttpResponse::Ok().content_type("text/plain").body(body)
}

#[get("/json")]
async fn json() -> Json<Message> {
    Json(Message { message: "Hello, World!" })
}

#[get("/ws")]
async fn socket(request: HttpRequest, body: Payload) -> actix_web::Result<HttpResponse> {
    let (response, session, messages) = actix_ws::handle(&request, body)?;
    let messages = messages.max_frame_size(MESSAGE_BYTES).aggregate_continuations();
    rt::spawn(echo(session, messages.max_continuation_size(MESSAGE_BYTES)));
    Ok(response)
}

/// Gives every message back, until the connection ends or breaks the protocol.
async fn echo(mut session: Session, mut messages: AggregatedMessageStream) {
    while let Some(Ok(message)) = messages.recv().await {
        let sent = match message {
            AggregatedMessage::Text(text) => session.text(text).await,
            AggregatedMessage::Binary(bytes) => session.binary(bytes).await,
            AggregatedMessage::Ping(bytes) => session.pong(&bytes).await,
            AggregatedMessage::Pong(_) => Ok(()),
            AggregatedMessage::Close(reason) => return session.close(reason).await.unwrap_or_default(),
        };
        if sent.is_err() {
            return;
        }
    }
    session.close(None).await.unwrap_or_default();
}

#[get("/db")]
async fn one(store: Data<Store>) -> actix_web::Result<Json<World>> {
    store.one().await.map(Json).map_err(ErrorInternalServerError)
}

#[get("/queries")]
async fn many(store: Data<Store>, wanted: Query<Wanted>) -> actix_web::Result<Json<Vec<World>>> {
    store.many(wanted.rows()).await.map(Json).map_err(ErrorInternalServerError)
}

#[get("/updates")]
async fn update(store: Data<Store>, wanted: Query<Wanted>) -> actix_web::Result<Json<Vec<World>>> {
    store.update(wanted.rows()).await.map(Json).map_err(ErrorInternalServerError)
}

#[get("/cached-queries")]
async fn cached(store: Data<Store>, wanted: Query<Wanted>) -> Json<Vec<World>> {
    Json(store.cached(wanted.rows()))
}

#[get("/fortunes")]
async fn fortunes(store: Data<Store>) -> actix_web::Result<Html> {
    let page = store.fortunes().await.map_err(ErrorInternalServerError)?;
    page.render().map(Html::new).map_err(ErrorInternalServerError)
}
