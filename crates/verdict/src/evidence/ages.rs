//! How old servers were when what counts of them was measured.

use assay_model::record::{Run, Turn};
use assay_model::units::Nanos;
use assay_model::verdict::Ages;

use crate::evidence::window::Window;

/// Ages of the windows that count, each with the life that it is of; `None` where there is none, or it is not known how much
/// load a server had behind it.
pub(crate) fn of<'w, 'r: 'w>(windows: impl Iterator<Item = (&'w Run, &'w Window<'r>)>) -> Option<Ages> {
    let counting = windows.filter(|(_, window)| window.counts());
    counting.filter_map(|(run, window)| of_window(run, window)).reduce(Ages::and)
}

fn of_window(run: &Run, window: &Window<'_>) -> Option<Ages> {
    let measured = window.measured;
    let since_start = |offset: Nanos| offset - run.offset_ns;
    if measured.turns.is_empty() {
        let (load, length) = (measured.load.warmup_ns, measured.load.window_ns);
        return Some(ages(measured.loaded_ns + load, since_start(measured.offset_ns) + load, length));
    }
    // Records from before the load was counted have no ages.
    measured.turns.last().filter(|last| last.loaded_ns > Nanos::ZERO)?;
    let of_turn = |turn: &Turn| {
        let length = window.counting.length(turn);
        let before = turn.load.settle_ns + turn.load.window_ns - length;
        let counts = length > Nanos::ZERO;
        counts.then(|| ages(turn.loaded_ns + before, since_start(turn.offset_ns) + before, length))
    };
    measured.turns.iter().filter_map(of_turn).reduce(Ages::and)
}

fn ages(loaded: Nanos, lived: Nanos, length: Nanos) -> Ages {
    Ages {
        loaded_from_ns: loaded,
        loaded_to_ns: loaded + length,
        lived_from_ns: lived,
        lived_to_ns: lived + length,
    }
}

#[cfg(test)]
mod tests {
    use assay_model::load::LoadTurn;

    use super::*;
    use crate::evidence::window::DecodedRecord;
    use crate::testing;

    const fn ms(n: u64) -> Nanos {
        Nanos::from_millis(n)
    }

    fn told(record: &assay_model::record::Record) -> Option<Ages> {
        let evidence = DecodedRecord::of(record).expect("readable");
        let server_runs = evidence.rounds.iter().flatten();
        of(server_runs
            .flat_map(|server_run| server_run.windows.iter().map(|window| (server_run.run, window))))
    }

    #[test]
    fn ages_are_those_of_what_counts_and_not_of_the_load_before_it() {
        let mut record = testing::record(&[("a", &[1000.0])]);
        let run = &mut record.rounds[0].runs[0];
        (run.offset_ns, run.cells[0].offset_ns) = (ms(3000), ms(5000));
        (run.cells[0].loaded_ns, run.cells[0].load.warmup_ns) = (ms(700), ms(100));
        let whole = ages(ms(800), ms(2100), ms(1000));
        assert_eq!(told(&record), Some(whole));
        let load = LoadTurn { settle_ns: ms(50), window_ns: ms(150), ok: 150, ..LoadTurn::default() };
        let turn = |rotation, loaded| Turn {
            rotation,
            offset_ns: ms(5000 + loaded * 10),
            loaded_ns: ms(loaded),
            load: load.clone(),
            ..Turn::default()
        };
        record.rounds[0].runs[0].cells[0].turns = vec![turn(0, 500), turn(1, 700)];
        let turned = ages(ms(550), ms(7050), ms(150)).and(ages(ms(750), ms(9050), ms(150)));
        assert_eq!(told(&record), Some(turned));
        record.rounds[0].runs[0].cells[0].turns = vec![turn(0, 0), turn(1, 0)];
        assert_eq!(told(&record), None, "a record from before load was counted");
    }
}
