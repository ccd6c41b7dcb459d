//! What is asked of a server: one request, and which answer to it is right.

use std::path::PathBuf;

use assay_model::workload::{Expect, RequestKind};
use assay_model::{message, template};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use super::value;
use crate::failure::Failure;

/// The method unless another is named.
const DEFAULT_METHOD: &str = "GET";
/// Longest file with a body, in bytes: it is held in memory, and written into what participants of a fleet are told.
const MAX_BODY_BYTES: u64 = 16 << 20;

#[derive(Args, Clone, Debug, Default)]
pub(crate) struct RequestArguments {
    /// Method [default: GET]
    #[arg(short, long, value_name = "METHOD", value_parser = value::method, help_heading = "Request")]
    method: Option<String>,
    /// Header field; may be repeated
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE", value_parser = value::field, help_heading = "Request")]
    headers: Vec<(String, String)>,
    /// Body
    #[arg(long, value_name = "TEXT", help_heading = "Request")]
    body: Option<String>,
    /// File with the body, of 16 MiB at most
    #[arg(long, value_name = "FILE", conflicts_with = "body", help_heading = "Request")]
    body_file: Option<PathBuf>,
    /// Status that counts as right [default: any 2xx]
    #[arg(long, value_name = "CODE", help_heading = "Request")]
    expect_status: Option<u16>,
    /// Body that counts as right [default: what the server answers before the load]
    #[arg(long, value_name = "TEXT", conflicts_with = "expect_shape", help_heading = "Request")]
    expect_body: Option<String>,
    /// What a JSON body must look like: {"id": 1..10000, "name": string}, [20 * number]
    #[arg(long, value_name = "SHAPE", help_heading = "Request")]
    expect_shape: Option<String>,
    /// Run this when the server is ready; each line NAME=value that it prints gives ${NAME} in requests its value. It finds
    /// the server in $URL and $PORT
    #[arg(long, value_name = "COMMAND", value_parser = NonEmptyStringValueParser::new(), help_heading = "Request")]
    before: Option<String>,
}

impl RequestArguments {
    /// What is to be run before the load.
    pub(crate) fn before(&self) -> Option<&str> {
        self.before.as_deref()
    }

    /// Whether anything was said of the request itself.
    pub(crate) fn is_given(&self) -> bool {
        self.method.is_some()
            || !self.headers.is_empty()
            || self.body.is_some()
            || self.body_file.is_some()
            || self.expect_status.is_some()
            || self.expect_body.is_some()
            || self.expect_shape.is_some()
    }

    /// The method of the request.
    pub(crate) fn method(&self) -> &str {
        self.method.as_deref().unwrap_or(DEFAULT_METHOD)
    }

    /// The request for `path`.
    ///
    /// # Errors
    /// When the file with the body cannot be read, or the path, which may be that of a URL, cannot be asked for.
    pub(crate) fn kind(&self, path: &str) -> Result<RequestKind, Failure> {
        let path = value::path(path).map_err(Failure::usage)?;
        let read = |file: &PathBuf| {
            let text = assay_file::read(file, MAX_BODY_BYTES);
            text.map_err(|source| Failure::Read { path: file.clone(), source })
        };
        let body = match &self.body_file {
            Some(file) => Some(read(file)?),
            None => self.body.clone(),
        };
        let expect = Expect {
            status: self.expect_status,
            body: self.expect_body.clone(),
            shape: self.expect_shape.clone(),
            ..Expect::default()
        };
        let (method, headers) = (self.method().to_owned(), self.headers.clone());
        Ok(RequestKind { weight: 1, method, path, headers, body, expect })
    }

    /// The call of gRPC at `path`. A file with the body has the message itself, whatever its bytes.
    ///
    /// # Errors
    /// When the file with the body cannot be read, nothing is called or the path cannot be asked for, or what a call does not have is asked for.
    pub(crate) fn call(&self, path: &str) -> Result<RequestKind, Failure> {
        let path = &value::path(path).map_err(Failure::usage)?;
        if path.trim_start_matches('/').split('/').filter(|part| !part.is_empty()).count() < 2 {
            return Err(Failure::usage(format_args!(
                "`{path}` calls nothing: write grpc://host:port/package.Service/Method"
            )));
        }
        if self.method.is_some() || self.expect_status.is_some() || self.expect_shape.is_some() {
            return Err(Failure::usage(
                "a call of gRPC is right with status 0 and its message: leave --method, --expect-status and --expect-shape out; \
                 --expect-body says what comes back",
            ));
        }
        let read = |file: &PathBuf| {
            let bytes = assay_file::read_bytes(file, MAX_BODY_BYTES);
            bytes.map_err(|source| Failure::Read { path: file.clone(), source })
        };
        let body = match &self.body_file {
            Some(file) => Some(template::literal(&message::literal(&read(file)?))),
            None => self.body.clone(),
        };
        let expect = Expect { body: self.expect_body.clone(), ..Expect::default() };
        let kind = RequestKind { headers: self.headers.clone(), body, expect, ..RequestKind::get(path) };
        Ok(RequestKind { method: "POST".to_owned(), ..kind })
    }
}
