//! The generators of a load: processes of this host, or a generator on each of several hosts.

use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Sender;

use assay_fleet::line::Order;
use assay_load::LoadPlan;
use assay_model::lab::{HostRole, LabHost};
use assay_model::units::Nanos;

use super::apart::{self, Apart};
use super::heard::Report;
use super::parts::{self, Named};
use super::process::Process;
use crate::args::LoadArguments;
use crate::command::from;
use crate::failure::Failure;

/// The generators of a load.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::command::load) enum Crew {
    /// Processes of this host, by number; one is this process itself.
    Here(u32),
    /// A generator on each of these hosts, and the authorities that each is to trust, if a file of this one has them.
    There(Vec<LabHost>, Option<String>),
}

impl Crew {
    /// The crew that the arguments ask for.
    pub(in crate::command::load) fn of(arguments: &LoadArguments) -> Result<Self, Failure> {
        if arguments.lab.is_none() && arguments.from.is_empty() {
            return Ok(Self::Here(arguments.generators));
        }
        let known = from::Hosts::of(arguments.lab.as_deref())?;
        let hosts = known.generators(&arguments.from)?;
        let is_any = known.lab.hosts.iter().any(|host| host.roles.contains(&HostRole::Generator));
        if arguments.from.is_empty() && !is_any {
            let names = known.names();
            let problem = format!("none of its hosts has the role generator; say which with --from: {names}");
            return Err(known.wrong(&problem));
        }
        if hosts.is_empty() {
            return Ok(Self::Here(1));
        }
        if arguments.tls.has_identity() {
            return Err(Failure::usage(
                "--cert and --key: a key does not leave this host; leave them out, or leave --lab and --from out",
            ));
        }
        Ok(Self::There(hosts, arguments.tls.authorities()?))
    }

    /// Whether this process makes the load itself.
    pub(in crate::command::load) fn is_alone(&self) -> bool {
        *self == Self::Here(1)
    }

    /// How many they are.
    pub(super) fn count(&self) -> u32 {
        match self {
            Self::Here(count) => *count,
            Self::There(hosts, _) => u32::try_from(hosts.len()).unwrap_or(u32::MAX),
        }
    }

    /// Whether each would have something to do, as far as this host knows.
    ///
    /// # Errors
    /// What the load, or this machine, lacks for so many.
    pub(in crate::command::load) fn check(&self, plan: &LoadPlan) -> Result<(), Failure> {
        match self {
            Self::Here(1) => Ok(assay_load::check(plan)?),
            Self::Here(count) => parts::here(plan, *count).map(drop),
            Self::There(hosts, _) => {
                let places = hosts.iter().map(|host| (host.name.clone(), vec![0])).collect();
                parts::there(plan, places, None).map(drop)
            }
        }
    }

    /// Starts them, each with the part that it is to have; what is heard of them goes to `told`. While a window lasts, at most `longest`,
    /// nothing is sent to other hosts.
    pub(super) fn hire(
        &self,
        plan: &LoadPlan,
        longest: Nanos,
        stop: &AtomicBool,
        told: &Sender<Report>,
    ) -> Result<(Vec<Named>, Vec<Generator>), Failure> {
        match self {
            Self::Here(count) => {
                let parts = parts::here(plan, *count)?;
                let start = |number| Process::start(number, told.clone()).map(Generator::Here);
                let generators = (0..parts.len()).map(start).collect::<Result<_, _>>();
                let cannot = |error| Failure::Machine(format!("cannot start {count} generators: {error}"));
                Ok((parts, generators.map_err(cannot)?))
            }
            Self::There(hosts, authorities) => {
                let agents = apart::open(hosts, stop)?;
                let places = agents.iter().map(Apart::place).collect();
                let parts = parts::there(plan, places, authorities.as_deref())?;
                for (number, agent) in agents.iter().enumerate() {
                    agent.expect_silence(longest.into(), stop)?;
                    agent.start(number, told.clone())?;
                }
                Ok((parts, agents.into_iter().map(Box::new).map(Generator::There).collect()))
            }
        }
    }
}

/// A running generator. Dropping it ends it.
pub(super) enum Generator {
    Here(Process),
    There(Box<Apart>),
}

impl Generator {
    /// Tells it something.
    ///
    /// # Errors
    /// Why it was not told; one that has ended says itself why.
    pub(super) fn send(&mut self, order: &Order) -> Result<(), String> {
        match self {
            Self::Here(process) => process.send(order),
            Self::There(apart) => apart.send(order),
        }
    }

    /// How it ended, which has closed its output.
    pub(super) fn ended(&mut self) -> String {
        match self {
            Self::Here(process) => process.ended(),
            Self::There(apart) => apart.ended(),
        }
    }

    /// Ends it, which has reported or is lost.
    pub(super) fn leave(self) {
        if let Self::There(apart) = self {
            apart.leave();
        }
    }
}
