//! Statistics of what is known: samples that were made up, and simulated runs and servers whose truth nobody had to estimate.

mod histogram;
mod redline;
mod simulation;
mod table;
