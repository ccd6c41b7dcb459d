//! A generator that takes part in a load which somebody else leads, here or from another host: it is told what to do on standard input
//! and answers on standard output ([`assay_fleet::line`]).

use std::io::stdin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use assay_engine::clock;
use assay_fleet::line::{self, FLEET_SCHEMA, Order, Part, Said, Turn};
use assay_lab::Exit;
use assay_load::{News, WindowOrder};
use assay_model::units::Nanos;

use super::told::encoded;
use crate::args::LoadArguments;
use crate::command::load::plan;
use crate::failure::Failure;
use crate::output;

/// The arguments with which this program is a generator that somebody else leads; what it does is all told.
pub(super) const PARTICIPANT: [&str; 3] = ["load", "--participant", "-"];

/// Takes part to the end of the load, or until nobody leads it any more.
pub(in crate::command::load) fn run() -> Result<Exit, Failure> {
    let Some(part) = await_part() else { return Ok(Exit::Interrupted) };
    let measured = part.and_then(measure);
    if let Err(failure) = &measured {
        say(&Said::Failed { exit: failure.exit().code(), reason: failure.to_string() });
        return Ok(failure.exit());
    }
    Ok(Exit::Ok)
}

fn measure(part: Part) -> Result<(), Failure> {
    let arguments = LoadArguments::of_words(&part.arguments)?;
    let plan = plan::of_part(&arguments, part)?;
    let stop = Arc::new(AtomicBool::new(false));
    let (order, orders) = channel();
    let listening = Arc::clone(&stop);
    std::thread::spawn(move || listen(&order, &listening));
    let report = assay_load::run_windows(&plan, windows(&orders), &stop, telling())?;
    say(&Said::Report(Box::new(report)));
    Ok(())
}

/// Tells the time as often as it is asked, until there is something to do; `None` when nobody leads it.
fn await_part() -> Option<Result<Part, Failure>> {
    for line in stdin().lines().map_while(Result::ok) {
        match line::read(&line) {
            Ok(Order::Ping { number }) => say(&Said::Pong { number, at_ns: clock::now() }),
            Ok(Order::Part(part)) if part.schema == FLEET_SCHEMA => return Some(Ok(*part)),
            Ok(Order::Part(part)) => {
                let ours = env!("CARGO_PKG_VERSION");
                let why =
                    format!("this is assay {ours}, which speaks {FLEET_SCHEMA} and not {}", part.schema);
                return Some(Err(Failure::Usage(why)));
            }
            Ok(Order::Begin(_) | Order::End) => return None,
            Err(why) => return Some(Err(Failure::Usage(why))),
        }
    }
    None
}

/// Hands on the orders to measure, until there is to be an end. Where nobody leads any more, nobody would hear the report: the process
/// ends there and then, and its connections with it.
fn listen(orders: &Sender<line::Begin>, stop: &AtomicBool) {
    for line in stdin().lines().map_while(Result::ok) {
        match line::read(&line) {
            Ok(Order::Begin(begin)) if orders.send(begin).is_ok() => {}
            Ok(Order::End) => return stop.store(true, Ordering::Relaxed),
            _ => break,
        }
    }
    std::process::exit(Exit::Interrupted.code().into());
}

/// The windows that are ordered; waiting for them takes no CPU time.
fn windows(orders: &Receiver<line::Begin>) -> impl Iterator<Item = WindowOrder> {
    orders.iter().map(|begin| WindowOrder {
        settle: begin.settle_ns,
        length: begin.length_ns,
        start: Some(begin.at_ns),
    })
}

/// Says what is of use to whoever leads: nothing while a window goes on, but for seconds, where these were asked for.
fn telling() -> impl FnMut(News) {
    let mut began = Nanos::ZERO;
    move |news| match news {
        News::Connected => say(&Said::Ready),
        News::Began(at) => began = at,
        News::Turn(turn) => say(&Said::Turn(Box::new(Turn { began_ns: began, turn: *turn }))),
        News::Second(second) => {
            if let Ok(second) = encoded(&second) {
                say(&Said::Second(Box::new(second)));
            }
        }
        News::Progress(_) => {}
    }
}

fn say(said: &Said) {
    if let Ok(line) = line::written(said) {
        output::result(&line);
    }
}
