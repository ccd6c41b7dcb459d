//! What goes on, drawn: the standings of a run, and the last second of a load (`support` makes the run up).

use std::collections::BTreeMap;

use assay_model::experiment::Cell;
use assay_model::load::ErrorClass;
use assay_model::record::{Record, State};
use assay_model::verdict::Verdict;
use assay_report::terminal::Style;
use assay_report::terminal::live::{Board, LoadBoard, Wish};
use assay_report::text;
use assay_stats::Histogram;
use assay_verdict::Settling;

use crate::support::{HOSTILE, NOT_INSTALLED, sample};

const MINUTE_NS: u64 = 60_000_000_000;

fn style(width: usize, ascii: bool) -> Style {
    Style { width, colour: false, ascii, full: false }
}

/// A run in its fifth round.
fn board() -> Board {
    let (record, verdict) = going_on();
    let mut board = Board::default();
    board.doing = "nginx: hello at 64 connections".to_owned();
    board.left_ns = Some(2 * MINUTE_NS);
    board.has_keys = true;
    let unsettled = ["gin", "net-http"].map(str::to_owned).into();
    board.settling = Some(Settling { pairs: 6, open: 2, searches: 0, unsettled });
    board.judge(&record, &verdict);
    board.begin_round(5, 12);
    board.turn_to(&Cell::closed("hello", 64));
    for per_second in [81_000.0, 78_000.0, 80_500.0] {
        board.add_window("nginx", per_second);
    }
    board.add_window("gin", 52_000.0);
    board
}

/// That run, changed.
fn board_with(change: impl FnOnce(&mut Board)) -> Board {
    let mut board = board();
    change(&mut board);
    board
}

/// Shows a run's first round, in which nothing was measured yet.
fn begin(board: &mut Board) {
    let (mut record, _) = going_on();
    record.rounds.clear();
    board.judge(&record, &assay_verdict::judge(&record).expect("readable"));
    board.begin_round(1, 4);
}

fn going_on() -> (Record, Verdict) {
    let (record, verdict) = sample();
    (Record { state: State::Running, ..record }, verdict)
}

fn lines(board: &Board, width: usize, height: usize) -> String {
    board.lines(&style(width, false), height).join("\n")
}

#[test]
fn a_run_at_80_columns() {
    insta::assert_snapshot!(lines(&board(), 80, 24));
}

#[test]
fn a_run_at_200_columns_in_ascii() {
    let text = board().lines(&style(200, true), 50).join("\n");
    assert!(text.is_ascii());
    insta::assert_snapshot!(text);
}

#[test]
fn before_the_first_verdict_there_are_windows_and_before_these_what_is_done() {
    let mut board = Board::default();
    (board.doing, board.since_ns) = ("nginx: building".to_owned(), Some(MINUTE_NS));
    assert!(lines(&board, 80, 24).starts_with(" nginx: building, 1 min 0 s\n"));
    begin(&mut board);
    board.turn_to(&Cell::closed("hello", 64));
    board.add_window("nginx", 81_000.0);
    let text = lines(&board, 80, 24);
    let row = text.lines().find(|line| line.starts_with(" nginx ")).expect("a row");
    assert!(row.contains('–') && row.ends_with("81.0k"), "{text}");
    assert!(!text.contains(NOT_INSTALLED), "who has no window has no row:\n{text}");
}

#[test]
fn where_there_is_little_room_columns_of_dashes_give_way_and_what_fits_comes_back() {
    let mut board = Board::default();
    begin(&mut board);
    board.turn_to(&Cell::closed("hello", 64));
    board.add_window("nginx", 81_000.0);
    let heads = |columns| {
        let text = lines(&board, columns, 24);
        assert!(text.contains("81.0k"), "{text}");
        text.lines().nth(2).unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(heads(40), "req/s tier this round", "the round's only figures stay");
    assert_eq!(heads(41), "req/s p99 tier this round", "the interval, which tells more, is too wide");
}

#[test]
fn before_the_first_window_there_is_what_warm_ups_showed() {
    let mut board = Board::default();
    begin(&mut board);
    board.add_warmup("gin", "hello", 52_000.0);
    board.add_warmup("nginx", "hello", 81_000.0);
    board.add_warmup("node", "json", 90_000.0);
    board.turn_to(&Cell::closed("hello", 64));
    let rows = |board: &Board| -> Vec<String> {
        let text = lines(board, 80, 24);
        text.lines().filter(|line| line.ends_with('k') || line.ends_with("k)")).map(str::to_owned).collect()
    };
    let warm = rows(&board);
    assert_eq!(warm.len(), 2, "node was asked for something else: {warm:?}");
    assert!(warm[0].starts_with(" nginx ") && warm[0].ends_with("(81.0k)"), "{warm:?}");
    board.add_window("gin", 82_000.0);
    let measured = rows(&board);
    assert!(measured[0].starts_with(" gin ") && measured[0].ends_with(" 82.0k"), "{measured:?}");
    assert!(measured[1].ends_with("(81.0k)"), "{measured:?}");
    board.begin_round(2, 4);
    assert!(rows(&board).is_empty(), "of the round before");
}

#[test]
fn a_cell_measured_whole_counts_where_no_turn_was_told() {
    let mut board = board();
    board.add_whole("nginx", 1.0);
    board.add_whole("node", 7000.0);
    let text = lines(&board, 120, 40);
    let row = |name: &str| text.lines().find(|line| line.starts_with(name)).expect("a row").to_owned();
    assert!(row(" nginx ").ends_with("80.5k") && row(" node ").ends_with("7.00k"), "{text}");
}

#[test]
fn what_a_person_wishes_is_told_at_once() {
    let told = |wish| {
        lines(&board_with(|board| board.wish = wish), 80, 24).lines().last().unwrap_or_default().to_owned()
    };
    assert_eq!(told(Wish::GoOn), " q finish this round and stop · p pause · ? help");
    assert_eq!(told(Wish::Pause), " pausing after this window · p goes on");
    assert!(told(Wish::Paused { seconds: 75 }).starts_with(" paused for 1 min 15 s · p goes on"));
    assert!(told(Wish::LastRound).starts_with(" finishing this round, then stopping"));
    assert!(told(Wish::Stop).starts_with(" finishing this window, then stopping"));
    let help = lines(&board_with(|board| (board.is_help, board.cpu_share) = (true, 0.0004)), 80, 24);
    assert!(help.contains("0.04 % of one CPU") && !help.contains("req/s  "), "{help}");
}

#[test]
fn whatever_the_size_the_lines_fit_and_their_ends_stay() {
    let boards = [
        board(),
        board_with(|board| board.is_help = true),
        board_with(|board| board.doing = HOSTILE.to_owned()),
    ];
    for (board, columns, height) in boards.iter().flat_map(|board| {
        [40, 60, 80, 132, 200].into_iter().flat_map(move |c| [6, 10, 24, 60].map(move |h| (board, c, h)))
    }) {
        let lines = board.lines(&style(columns, false), height);
        assert!(lines.len() <= height, "{} lines at {columns} × {height}", lines.len());
        assert!(lines.iter().all(|line| text::width(line) <= columns), "at {columns} × {height}: {lines:#?}");
        assert!(!lines.concat().contains('\x1b'), "{lines:?}");
        assert!(lines[0].contains("left") && lines.last().is_some_and(|line| line.contains("q finish")));
    }
}

#[test]
fn colours_are_written_where_they_are_wanted() {
    let coloured = board().lines(&Style { colour: true, ..style(80, false) }, 24);
    assert!(coloured[0].contains("\x1b[1m"), "{coloured:?}");
}

/// Ten thousand answers in the last second, half of a millisecond and more.
fn load() -> LoadBoard {
    let mut times = Histogram::new();
    (1..=10_000_u64).for_each(|n| times.record(500_000 + 40_000 * n * n / 1_000_000));
    times.record(40_000_000);
    let errors = BTreeMap::from([(ErrorClass::ConnectRefused, 3), (ErrorClass::SendReset, 1)]);
    let mut board = LoadBoard::default();
    board.stage = "4.0 s of 10 s".to_owned();
    board.left_ns = Some(6_000_000_000);
    (board.connections, board.in_flight, board.answered) = (64, 63, 40_123);
    board.cpu_share = 0.003;
    board.add_second(9_800.0, &BTreeMap::from([(ErrorClass::ConnectRefused, 9)]), &times, false);
    board.add_second(10_001.0, &errors, &times, true);
    board
}

#[test]
fn a_load_at_80_columns() {
    insta::assert_snapshot!(load().lines(&style(80, false), 24).join("\n"));
}

#[test]
fn a_load_at_200_columns_in_ascii() {
    let text = load().lines(&style(200, true), 24).join("\n");
    assert!(text.is_ascii());
    insta::assert_snapshot!(text);
}

#[test]
fn a_load_in_one_line() {
    assert_eq!(load().line(), "4.0 s of 10 s · 10.0k/s in the last second · 13 failed");
}

#[test]
fn a_load_fits_into_any_terminal() {
    for (columns, height) in [(40, 5), (60, 8), (80, 24), (200, 60)] {
        let lines = load().lines(&style(columns, false), height);
        assert!(lines.len() <= height && lines.iter().all(|line| text::width(line) <= columns), "{lines:#?}");
    }
}
