//! What `assay load` writes while it runs: a line of JSON for each second, and a log of histograms.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use assay_file::WriteError;
use assay_load::Second;
use assay_model::load::Phase;
use assay_stats::Histogram;

use super::hdr_log;
use crate::failure::Failure;

/// Files that grow by something each second. Everything is flushed at once, so that whoever reads along sees it, and
/// what is there is whole however the measurement ends.
#[derive(Default)]
pub(super) struct Seconds {
    stream: Option<Sink>,
    log: Option<Sink>,
    begun: bool,
    failure: Option<Failure>,
}

struct Sink {
    path: PathBuf,
    out: Box<dyn Write>,
    /// Whether the reader of standard output has gone away, which is no failure.
    is_unread: bool,
}

impl Seconds {
    /// Opens the files; `-` is standard output.
    pub(super) fn open(stream: Option<&Path>, log: Option<&Path>) -> Result<Self, Failure> {
        let open = |path: &Path| Sink::open(path);
        Ok(Self { stream: stream.map(open).transpose()?, log: log.map(open).transpose()?, ..Self::default() })
    }

    /// Whether anybody wants to know.
    pub(super) fn are_wanted(&self) -> bool {
        self.stream.is_some() || self.log.is_some()
    }

    /// Writes a second. Returns whether there is any use in going on.
    pub(super) fn write(&mut self, second: &Second) -> bool {
        if self.failure.is_none() {
            self.failure = self.try_write(second).err();
        }
        self.failure.is_none() && !self.are_unread()
    }

    /// Whether who read them has gone away.
    pub(super) fn are_unread(&self) -> bool {
        self.stream.iter().chain(&self.log).any(|sink| sink.is_unread)
    }

    /// Why not everything was written, if so.
    pub(super) fn finish(self) -> Result<(), Failure> {
        self.failure.map_or(Ok(()), Err)
    }

    fn try_write(&mut self, second: &Second) -> Result<(), Failure> {
        let bug = |error: &dyn std::fmt::Display| Failure::Bug(error.to_string());
        if let Some(stream) = &mut self.stream {
            let line = serde_json::to_string(&second.line).map_err(|e| bug(&e))?;
            stream.write(&(line + "\n"))?;
        }
        let Some(log) = &mut self.log else { return Ok(()) };
        if !belongs_to_window(second) {
            return Ok(());
        }
        if !self.begun {
            self.begun = true;
            log.write(&hdr_log::header(begin_of(second)))?;
        }
        let times: [(&str, Option<&Histogram>); 2] =
            [("response", second.response.as_ref()), ("service", Some(&second.service))];
        for (tag, histogram) in times {
            let Some(histogram) = histogram.filter(|histogram| !histogram.is_empty()) else { continue };
            let (from, length) = (second.line.offset_ns, second.line.length_ns);
            log.write(&hdr_log::line(tag, from, length, histogram).map_err(|e| bug(&e))?)?;
        }
        Ok(())
    }
}

/// Whether the report counts what ended in this second: the answers to requests that were due in the window may come later.
fn belongs_to_window(second: &Second) -> bool {
    match second.line.phase {
        Phase::Window => true,
        Phase::Drain => second.response.is_some(),
        Phase::Connecting | Phase::WarmUp => false,
    }
}

/// When the first request was due, by the wall clock: the second has just ended.
fn begin_of(second: &Second) -> SystemTime {
    let since: Duration = (second.line.offset_ns + second.line.length_ns).into();
    SystemTime::now().checked_sub(since).unwrap_or(SystemTime::UNIX_EPOCH)
}

impl Sink {
    fn open(path: &Path) -> Result<Self, Failure> {
        let out: Box<dyn Write> =
            if path.as_os_str() == "-" { Box::new(io::stdout()) } else { Box::new(assay_file::begin(path)?) };
        Ok(Self { path: path.to_owned(), out, is_unread: false })
    }

    fn write(&mut self, text: &str) -> Result<(), Failure> {
        match self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe && self.path.as_os_str() == "-" => {
                self.is_unread = true;
                Ok(())
            }
            written => Ok(written.map_err(|source| WriteError::new(&self.path, source))?),
        }
    }
}
