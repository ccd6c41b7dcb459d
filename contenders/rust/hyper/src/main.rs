//! A server for hello and json with hyper, on the runtime that its users use.

use std::collections::HashMap;
use std::convert::Infallible;
use std::env;
use std::error::Error;
use std::sync::Arc;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue, SERVER};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use serde::Serialize;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

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
    let listener = TcpListener::bind((env::var("ADDRESS")?, env::var("PORT")?.parse()?)).await?;
    let bodies: &_ = Box::leak(Box::new(HashMap::from_iter(store::bodies()?)));
    let http = Http::spoken();
    let acceptor = tls::config()?.map(|config| TlsAcceptor::from(Arc::new(config)));
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let (http, acceptor) = (http.clone(), acceptor.clone());
        // A client that breaks off is its own affair.
        tokio::spawn(async move {
            match acceptor {
                None => serve_one(&http, stream, bodies).await,
                Some(acceptor) => {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        serve_one(&http, stream, bodies).await;
                    }
                }
            }
        });
    }
}

/// What is to be spoken.
#[derive(Clone)]
enum Http {
    One(http1::Builder),
    Two(http2::Builder<TokioExecutor>),
}

impl Http {
    fn spoken() -> Self {
        if env::var("PROTOCOL").is_ok_and(|protocol| ["h2c", "h2"].contains(&protocol.as_str())) {
            let mut http = http2::Builder::new(TokioExecutor::new());
            http.timer(TokioTimer::new());
            return Self::Two(http);
        }
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).pipeline_flush(true);
        Self::One(http)
    }
}

async fn serve_one(
    http: &Http,
    stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
    bodies: &'static HashMap<String, &'static str>,
) {
    let (stream, service) = (TokioIo::new(stream), service_fn(move |request| answer(request, bodies)));
    match http {
        Http::One(http) => http.serve_connection(stream, service).await.unwrap_or_default(),
        Http::Two(http) => http.serve_connection(stream, service).await.unwrap_or_default(),
    }
}

async fn answer(
    request: Request<Incoming>,
    bodies: &HashMap<String, &'static str>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let get = [Method::GET, Method::HEAD].contains(request.method());
    let path = request.uri().path();
    let body = bodies.get(path);
    Ok(match path {
        _ if !get && (body.is_some() || ["/", "/plaintext", "/byte", "/json"].contains(&path)) => {
            let mut refusal = respond(StatusCode::METHOD_NOT_ALLOWED, "text/plain", "method not allowed");
            refusal.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            refusal
        }
        "/" => respond(StatusCode::OK, "text/plain", "hello"),
        "/plaintext" => respond(StatusCode::OK, "text/plain", "Hello, World!"),
        "/byte" => respond(StatusCode::OK, "text/plain", "!"),
        "/json" => match serde_json::to_vec(&Message { message: "Hello, World!" }) {
            Ok(body) => respond(StatusCode::OK, "application/json", body),
            Err(_) => respond(StatusCode::INTERNAL_SERVER_ERROR, "text/plain", "no JSON"),
        },
        _ => match body {
            Some(body) => respond(StatusCode::OK, "text/plain", *body),
            None => respond(StatusCode::NOT_FOUND, "text/plain", "not found"),
        },
    })
}

fn respond(status: StatusCode, media_type: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(SERVER, HeaderValue::from_static("hyper"));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}
