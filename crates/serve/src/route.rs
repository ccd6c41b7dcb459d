//! From a method and a target to what shall be done.

use std::path::Path;

use assay_http::{Method, TargetForm, target};

use crate::answer::Answer;

/// The longest body that `/bytes/N` makes.
pub(crate) const SIZED_BODY_MAX: u64 = 1 << 30;

/// What shall be done about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerPlan {
    /// Give one of the prepared answers.
    Answer(Answer),
    /// Give so many bytes of the pattern.
    Sized(u64),
    /// Give the request's body back.
    Echo,
    /// Tell how many bytes the request's body has, and their checksum.
    Sum,
    /// Look the path up among the static files.
    File,
    /// Become a WebSocket that gives messages back.
    Socket,
}

/// The paths that are looked up among static files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Files {
    /// No paths: there is no folder of files.
    Nowhere,
    /// All paths without a route of their own; `/` is the folder's index.
    Everywhere,
    /// All that is below the root, while `/` is answered as if there was no folder.
    BelowRoot,
}

/// The first names of the paths that have a route of their own.
const ROUTES: [&str; 8] = ["hello", "json", "byte", "echo", "upload", "plaintext", "bytes", "ws"];

/// What lies in `root` and cannot be asked for by its name, because a route has that: the paths are what workloads ask
/// for, whatever folder is served beside them. Of `bytes` it is the files in it whose names are numbers.
pub fn hidden_by_routes(root: &Path) -> Vec<&'static str> {
    ROUTES.into_iter().filter(|name| root.join(name).exists()).collect()
}

/// Decides what shall be done.
#[inline]
pub(crate) fn plan(method: Method, form: TargetForm, raw: &[u8], files: Files) -> AnswerPlan {
    match resource(raw, files) {
        Some(resource) => permit(method, resource),
        None => plan_slowly(method, form, raw, files),
    }
}

/// The target is not spelled as a route: it may have a query, a scheme, escapes, or be a file's.
#[cold]
fn plan_slowly(method: Method, form: TargetForm, raw: &[u8], files: Files) -> AnswerPlan {
    if form == TargetForm::Asterisk {
        return AnswerPlan::Answer(Answer::ServerOptions);
    }
    let mut buffer = vec![0; raw.len() + 1];
    let Ok(path) = target::decode_path(target::split(raw).path, &mut buffer) else {
        return AnswerPlan::Answer(Answer::BadRequest);
    };
    match resource(path, files) {
        Some(resource) => permit(method, resource),
        None if files != Files::Nowhere => permit(method, AnswerPlan::File),
        None => permit(method, AnswerPlan::Answer(Answer::NotFound)),
    }
}

#[inline]
fn resource(path: &[u8], files: Files) -> Option<AnswerPlan> {
    Some(match path {
        b"/" if files != Files::Everywhere => AnswerPlan::Answer(Answer::Hello),
        b"/hello" => AnswerPlan::Answer(Answer::Hello),
        b"/json" => AnswerPlan::Answer(Answer::Json),
        b"/byte" => AnswerPlan::Answer(Answer::Byte),
        b"/echo" => AnswerPlan::Echo,
        b"/upload" => AnswerPlan::Sum,
        b"/plaintext" => AnswerPlan::Answer(Answer::Plaintext),
        b"/ws" => AnswerPlan::Socket,
        _ => AnswerPlan::Sized(sized(path.strip_prefix(b"/bytes/")?)?),
    })
}

/// `1*10DIGIT` up to [`SIZED_BODY_MAX`], without leading zeros, so that a size has one name.
fn sized(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 10 || (digits[0] == b'0' && digits.len() > 1) {
        return None;
    }
    let size = digits.iter().try_fold(0u64, |value, digit| {
        digit.is_ascii_digit().then(|| value * 10 + u64::from(digit - b'0'))
    })?;
    (size <= SIZED_BODY_MAX).then_some(size)
}

/// Checks the method against the resource (RFC 9110 §9.1, §15.5.6).
#[inline]
fn permit(method: Method, resource: AnswerPlan) -> AnswerPlan {
    match (method, resource) {
        (Method::Other, _) => AnswerPlan::Answer(Answer::NotImplemented),
        (_, AnswerPlan::Answer(Answer::NotFound)) => resource,
        (Method::Post, AnswerPlan::Echo | AnswerPlan::Sum) => resource,
        (Method::Options, AnswerPlan::Echo | AnswerPlan::Sum) => AnswerPlan::Answer(Answer::PostOptions),
        (_, AnswerPlan::Echo | AnswerPlan::Sum) => AnswerPlan::Answer(Answer::PostOnly),
        (Method::Post, AnswerPlan::Sized(_)) => resource,
        (Method::Options, AnswerPlan::Sized(_)) => AnswerPlan::Answer(Answer::SizedOptions),
        (Method::Options, _) => AnswerPlan::Answer(Answer::GetOptions),
        (Method::Get | Method::Head, _) => resource,
        (_, AnswerPlan::Sized(_)) => AnswerPlan::Answer(Answer::SizedOnly),
        _ => AnswerPlan::Answer(Answer::GetOnly),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(target: &str) -> AnswerPlan {
        plan(Method::Get, TargetForm::Origin, target.as_bytes(), Files::Nowhere)
    }

    #[test]
    fn every_route_is_found_however_it_is_spelled() {
        for spelling in
            ["/json", "/json?a=b", "/%6asON".replace("ON", "on").as_str(), "/x/../json", "/./json"]
        {
            assert_eq!(get(spelling), AnswerPlan::Answer(Answer::Json), "{spelling}");
        }
        let absolute = plan(Method::Get, TargetForm::Absolute, b"http://h/plaintext", Files::Nowhere);
        assert_eq!(absolute, AnswerPlan::Answer(Answer::Plaintext));
        assert_eq!(get("/"), AnswerPlan::Answer(Answer::Hello));
        assert_eq!(get("/hello"), AnswerPlan::Answer(Answer::Hello));
        assert_eq!(get("/byte"), AnswerPlan::Answer(Answer::Byte));
    }

    #[test]
    fn sizes_are_exact_and_bounded() {
        assert_eq!(get("/bytes/0"), AnswerPlan::Sized(0));
        assert_eq!(get("/bytes/1073741824"), AnswerPlan::Sized(1 << 30));
        for wrong in
            ["/bytes/", "/bytes/1073741825", "/bytes/-1", "/bytes/007", "/bytes/99999999999", "/bytes/1x"]
        {
            assert_eq!(get(wrong), AnswerPlan::Answer(Answer::NotFound), "{wrong}");
        }
    }

    #[test]
    fn methods_are_checked_after_the_resource_is_known() {
        let ask = |method, target: &str| plan(method, TargetForm::Origin, target.as_bytes(), Files::Nowhere);
        assert_eq!(ask(Method::Post, "/json"), AnswerPlan::Answer(Answer::GetOnly));
        assert_eq!(ask(Method::Get, "/echo"), AnswerPlan::Answer(Answer::PostOnly));
        assert_eq!(ask(Method::Post, "/echo"), AnswerPlan::Echo);
        assert_eq!(ask(Method::Post, "/nothing"), AnswerPlan::Answer(Answer::NotFound));
        assert_eq!(ask(Method::Other, "/json"), AnswerPlan::Answer(Answer::NotImplemented));
        assert_eq!(ask(Method::Head, "/json"), AnswerPlan::Answer(Answer::Json));
        assert_eq!(ask(Method::Options, "/json"), AnswerPlan::Answer(Answer::GetOptions));
        assert_eq!(ask(Method::Options, "/echo"), AnswerPlan::Answer(Answer::PostOptions));
        assert_eq!(ask(Method::Post, "/bytes/7"), AnswerPlan::Sized(7));
        assert_eq!(ask(Method::Options, "/bytes/7"), AnswerPlan::Answer(Answer::SizedOptions));
        assert_eq!(ask(Method::Put, "/bytes/7"), AnswerPlan::Answer(Answer::SizedOnly));
        assert_eq!(ask(Method::Options, "/nothing"), AnswerPlan::Answer(Answer::NotFound));
    }

    #[test]
    fn with_files_the_root_and_unknown_paths_are_files() {
        let ask = |target: &str| plan(Method::Get, TargetForm::Origin, target.as_bytes(), Files::Everywhere);
        assert_eq!(ask("/"), AnswerPlan::File);
        assert_eq!(ask("/a/b.css?v=1"), AnswerPlan::File);
        assert_eq!(ask("/json"), AnswerPlan::Answer(Answer::Json));
    }

    #[test]
    fn a_route_wins_over_a_file_of_its_name_and_that_is_known_beforehand() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(hidden_by_routes(root.path()), Vec::<&str>::new());
        ROUTES.iter().for_each(|name| std::fs::write(root.path().join(name), "file").unwrap());
        std::fs::write(root.path().join("page"), "file").unwrap();
        assert_eq!(hidden_by_routes(root.path()), ROUTES);
        for name in ROUTES {
            let target = if name == "bytes" { "/bytes/7".to_owned() } else { format!("/{name}") };
            let planned = plan(Method::Get, TargetForm::Origin, target.as_bytes(), Files::Everywhere);
            assert_ne!(planned, AnswerPlan::File, "{target}");
        }
    }

    #[test]
    fn files_can_leave_the_root_alone() {
        let ask = |target: &str| plan(Method::Get, TargetForm::Origin, target.as_bytes(), Files::BelowRoot);
        assert_eq!(ask("/"), AnswerPlan::Answer(Answer::Hello));
        assert_eq!(ask("/index.html"), AnswerPlan::File);
    }
}
