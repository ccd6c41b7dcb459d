//! The cells of an experiment that generators of other projects can make.

use assay_model::experiment::{Cell, Experiment, Span};
use assay_model::load::Arrival;
use assay_model::network::Stack;
use assay_model::offered::Offered;
use assay_model::template::placeholders;
use assay_model::workload::{RequestKind, Workload};

use super::load::Load;
use crate::secrets::is_telling_field;

/// The load of a cell on the server at `origin`, `http://host:port`, for a generator that repeats one request.
///
/// # Errors
/// Why only assay's own generator makes it, in words that follow the generator's name: "has no TCP stack of its own".
pub(crate) fn load_of(
    experiment: &Experiment,
    workload: &Workload,
    cell: &Cell,
    origin: &str,
) -> Result<Load, String> {
    if cell.network.is_some_and(|network| network.stack() == Stack::User) {
        return Err("has no TCP stack in user space".to_owned());
    }
    if cell.protocol.is_websocket() {
        return Err("opens no WebSocket".to_owned());
    }
    if cell.protocol.is_grpc() {
        return Err("is not asked to call anything".to_owned());
    }
    let request = repeated(workload)?;
    let arrival = match cell.offered {
        Offered::Capacity => Arrival::Closed,
        Offered::Rate(per_second) => experiment.arrival.at(per_second.into()),
        Offered::Share(_) | Offered::Common => {
            return Err("has no rate that follows from a capacity".to_owned());
        }
        Offered::Requests(_) => return Err("is not asked for a number of requests".to_owned()),
        Offered::Redline(_) => return Err("searches for no redline".to_owned()),
    };
    let Span::Seconds(window_s) = experiment.window_at(cell.offered) else {
        return Err("is not asked for a number of requests".to_owned());
    };
    Ok(Load {
        headers: request.headers.clone(),
        pipeline: cell.pipeline,
        http2: cell.protocol.is_http2(),
        arrival,
        timeout_s: whole_seconds(experiment.timeout_s),
        ..Load::closed(format!("{origin}{}", request.path), cell.connections, whole_seconds(window_s))
    })
}

/// Seconds for a window in which generators take turns: whole ones, as all of them know no others, and never none.
pub(crate) fn whole_seconds(seconds: f64) -> u32 {
    // `as` saturates.
    (seconds.ceil() as u32).max(1)
}

/// The one request of a workload.
fn repeated(workload: &Workload) -> Result<&RequestKind, String> {
    let [request] = workload.requests.as_slice() else {
        return Err(format!("repeats one request, and {} mixes {}", workload.name, workload.requests.len()));
    };
    let headers = request.headers.iter().map(|(_, value)| value);
    let mut texts = std::iter::once(&request.path).chain(headers);
    if texts.any(|text| placeholders(text).next().is_some()) {
        return Err(format!("repeats one request, and {} draws numbers for each", workload.name));
    }
    // Ours reads them from a file that only the user can read.
    if let Some((name, _)) = request.headers.iter().find(|(name, _)| is_telling_field(name)) {
        return Err(format!(
            "has its fields in its arguments, which every user of this machine can read, and {} sends credentials ({name})",
            workload.name
        ));
    }
    if request.method != "GET" || request.body.is_some() {
        return Err(format!("is asked for GET only, and {} asks with {}", workload.name, request.method));
    }
    match request.expect.status {
        Some(status) if !(200..300).contains(&status) => {
            Err(format!("takes only 2xx for right, and {} wants status {status}", workload.name))
        }
        _ => Ok(request),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::FOREIGN;
    use assay_model::experiment::{ArrivalModel, Measure, Protocol};
    use assay_model::generator::GeneratorName;
    use assay_model::workload::Expect;

    fn experiment() -> Experiment {
        Experiment { window_s: 1.2, ..Experiment::new("e", vec![Measure::capacity("hello", vec![16])]) }
    }

    fn workload(requests: Vec<RequestKind>) -> Workload {
        Workload { name: "hello".to_owned(), requests, ..Workload::default() }
    }

    fn refused(request: RequestKind) -> String {
        let (workload, cell) = (workload(vec![request]), Cell::closed("hello", 16));
        load_of(&experiment(), &workload, &cell, "http://127.0.0.1:1").expect_err("refused")
    }

    #[test]
    fn one_plain_request_is_repeated() {
        let mut request = RequestKind::get("/hello?a=1");
        request.headers = vec![("Accept".to_owned(), "text/plain".to_owned())];
        let cell = Cell { pipeline: 4, ..Cell::closed("hello", 16) }.over(Protocol::H2c);
        let load =
            load_of(&experiment(), &workload(vec![request]), &cell, "http://127.0.0.1:1").expect("a load");
        assert_eq!(
            (load.url.as_str(), load.connections, load.pipeline),
            ("http://127.0.0.1:1/hello?a=1", 16, 4)
        );
        assert!(load.http2);
        let refusals = FOREIGN.map(|generator| (generator.name(), generator.refusal(&load)));
        for (name, refusal) in refusals.into_iter().filter(|(name, _)| *name != GeneratorName::H2load) {
            assert!(refusal.is_some_and(|why| why.contains("HTTP/1.1 alone")), "{name}");
        }
        assert_eq!((load.seconds, load.timeout_s, load.arrival), (2, 5, Arrival::Closed));
        assert_eq!(load.headers[0].0, "Accept");
    }

    #[test]
    fn what_needs_more_than_a_repeated_get_is_refused_with_the_reason() {
        let get = || RequestKind::get("/");
        assert!(
            refused(RequestKind { path: "/${random:1..9}".to_owned(), ..get() }).contains("draws numbers")
        );
        assert!(refused(RequestKind { method: "POST".to_owned(), ..get() }).contains("asks with POST"));
        let missing = Expect { status: Some(404), ..Expect::default() };
        assert!(refused(RequestKind { expect: missing, ..get() }).contains("wants status 404"));
        let (mixed, cell) = (workload(vec![get(), get()]), Cell::closed("hello", 16));
        let why = load_of(&experiment(), &mixed, &cell, "http://x").expect_err("a mix");
        assert!(why.contains("hello mixes 2"), "{why}");
    }

    #[test]
    fn credentials_are_not_put_into_the_arguments_of_programs_of_others() {
        for name in ["authorization", "Cookie", "X-Api-Key", "X-Session-Token"] {
            let headers = vec![("Accept".to_owned(), "*/*".to_owned()), (name.to_owned(), "hush".to_owned())];
            let why = refused(RequestKind { headers, ..RequestKind::get("/") });
            assert!(why.contains("in its arguments") && why.contains(name) && !why.contains("hush"), "{why}");
        }
    }

    #[test]
    fn a_load_that_follows_from_a_measurement_is_refused_and_a_given_rate_is_not() {
        let at = |offered: &str| {
            let cell = Cell { offered: offered.parse().expect("a load"), ..Cell::closed("hello", 16) };
            let experiment = Experiment { arrival: ArrivalModel::Constant, ..experiment() };
            load_of(&experiment, &workload(vec![RequestKind::get("/")]), &cell, "http://x")
        };
        assert_eq!(at("5000/s").expect("a rate").arrival, Arrival::Constant { per_second: 5000.0 });
        for refused in ["50%", "common", "13000 requests", "redline:p99<10ms"] {
            assert!(at(refused).is_err(), "{refused}");
        }
        let cell = Cell::closed("hello", 1).on(Some("user/ring".parse().expect("a network")));
        let why = load_of(&experiment(), &workload(vec![RequestKind::get("/")]), &cell, "http://x");
        assert!(why.expect_err("refused").contains("in user space"));
        let socket = Cell::closed("hello", 1).over(Protocol::Wss);
        let why = load_of(&experiment(), &workload(vec![RequestKind::get("/")]), &socket, "http://x");
        assert!(why.expect_err("refused").contains("WebSocket"));
    }
}
