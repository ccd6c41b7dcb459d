//! Beside a proxy: the windows that go straight to its upstream, and the upstream's own count of requests
//! (docs/method/proxies.md).

use std::time::Duration;

use assay_model::experiment::Cell;
use assay_model::record::Measurement;

use super::halt::Halt;
use super::server_run::{OngoingRun, WindowOrder};
use super::watch::Watch;
use crate::contender::Server;
use crate::event::Event;
use crate::plan::pairs;
use crate::rounds::telling::Telling;

/// The upstream's count of requests before a load.
pub(crate) struct Tally(Option<u64>);

impl Tally {
    /// Reads the count of what is behind a server; nothing behind one that is no proxy.
    pub(crate) fn begin(server: &Server) -> Self {
        Self(server.upstream().and_then(Server::requests_counted))
    }

    /// Notes in a window what came since.
    pub(crate) fn note(self, server: &Server, window: &mut Measurement) {
        let Some(upstream) = &mut window.upstream else { return };
        let now = server.upstream().and_then(Server::requests_counted);
        upstream.requests = self.0.zip(now).map(|(before, now)| now.saturating_sub(before));
    }
}

/// When the window that goes straight is measured, beside the one through the proxy.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Straight {
    Before,
    After,
    Never,
}

impl OngoingRun<'_> {
    /// When a cell's window goes straight: by turns from round to round, so that whatever the first of a pair does to the second falls on both.
    pub(super) fn goes_straight(&self, cell: &Cell) -> Straight {
        if !pairs(self.server_run.subject, cell) {
            return Straight::Never;
        }
        // The round that is being measured is the record's last.
        let is_odd = self.server_run.record.rounds.len() % 2 == 1;
        let seed_is_odd = self.server_run.bench.plan.seed % 2 == 1;
        if is_odd == seed_is_odd { Straight::Before } else { Straight::After }
    }

    /// Measures a window at the order's rate and arrivals straight at the upstream, which is the server there.
    pub(crate) fn straight(
        &mut self,
        order: &WindowOrder<'_>,
        telling: &Telling<'_>,
    ) -> Result<Option<Box<Measurement>>, Halt> {
        let Some(upstream) = self.server.upstream() else { return Ok(None) };
        telling.notice(&Event::Measuring {
            contender: &self.server_run.subject.identity.name,
            cell: order.cell,
        });
        let age = self.age();
        let watch = Watch::start(&self.server_run, upstream, order.cell);
        let load = self.server_run.load_straight(&mut self.server, order)?;
        let Some(upstream) = self.server.upstream() else { return Ok(None) };
        let seen = watch.finish(&self.server_run, upstream, Duration::from_nanos(load.window_ns.0));
        self.check_server(load.books.failed() > 0)?;
        let beside_generator = self.server_run.is_upstream_beside_generator();
        let seen = seen.of_upstream(beside_generator);
        Ok(Some(Box::new(seen.into_measurement(&self.server_run, order.cell, age, load))))
    }
}
