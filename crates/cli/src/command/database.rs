//! `assay database`: the PostgreSQL of a lab that leads on another host.

use std::net::IpAddr;

use assay_lab::{Exit, database};

use crate::failure::Failure;
use crate::signals;

pub(crate) fn run(address: IpAddr, port: u16) -> Result<Exit, Failure> {
    let stop = signals::stop(|_| ())?;
    database::serve(address, port, &stop).map_err(|error| Failure::Machine(error.to_string()))?;
    Ok(Exit::Ok)
}
