//! The oracle at full length (METHODOLOGY): the generator's answers beside the truth, for a quiet machine.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use assay_model::check::Outcome;
use assay_model::load::LoadReport;
use assay_stats::Histogram;

/// A program for the stub, a load, and what an honest generator reports.
struct Case {
    name: &'static str,
    stub: &'static str,
    load: &'static str,
    lines: &'static [Line],
}

/// One figure and what may be added to it, and taken from it by sampling, as a share.
struct Line {
    figure: Figure,
    expected: f64,
    added: f64,
    share: f64,
}

#[derive(Clone, Copy)]
enum Figure {
    /// Right answers per second.
    Throughput,
    /// Quantile of the response time, or of the service time in a closed loop, in ms.
    Time(f64),
    /// Its mean.
    Mean,
    /// Quantile of the service time under an open model, in ms.
    Service(f64),
    /// Quantile of the wait for a connection, in ms.
    PoolWait(f64),
}

use Figure::{Mean, PoolWait, Service, Throughput, Time};

/// A time on a quiet host: METHODOLOGY allows 0.05 ms more at the median, 0.15 ms in the tail.
const fn time(figure: Figure, expected: f64) -> Line {
    let added = match figure {
        Time(q) | Service(q) | PoolWait(q) if q <= 0.5 => 0.05,
        _ => 0.15,
    };
    Line { figure, expected, added, share: 0.005 }
}

/// A figure that varies from run to run by the given share.
const fn sampled(figure: Figure, expected: f64, share: f64) -> Line {
    Line { figure, expected, added: 0.15, share }
}

const CASES: &[Case] = &[
    Case {
        name: "T1 fixed, constant",
        stub: "--service 1ms",
        load: "-r 10k --arrival constant -d 10s -c 200",
        lines: &[time(Time(0.5), 1.0), time(Time(0.99), 1.0)],
    },
    Case {
        name: "T1 fixed, Poisson",
        stub: "--service 1ms",
        load: "-r 10k -d 10s -c 200",
        lines: &[time(Time(0.5), 1.0), time(Time(0.99), 1.0)],
    },
    Case {
        name: "T2 stall",
        stub: "--service 1ms --stall 100ms/1s",
        load: "-r 10k --arrival constant -d 10s -c 1200",
        lines: &[
            time(Mean, 6.0),
            time(Time(0.5), 1.0),
            time(Time(0.95), 51.0),
            time(Time(0.99), 91.0),
            time(Time(0.999), 100.0),
            time(Time(1.0), 101.0),
        ],
    },
    Case {
        name: "T2b stall, d = 0.2 ms",
        stub: "--service 200us --stall 100ms/1s",
        load: "-r 10k --arrival constant -d 10s -c 1200",
        lines: &[time(Mean, 5.2), time(Time(0.95), 50.2), time(Time(0.99), 90.2), time(Time(0.999), 99.2)],
    },
    Case {
        name: "T2c closed loop",
        stub: "--service 1ms --stall 100ms/1s",
        load: "-d 10s -c 16",
        lines: &[sampled(Throughput, 14_400.0, 0.05)],
    },
    Case {
        name: "T3 pool",
        stub: "--service 5ms --stall 100ms/1s",
        load: "-r 1000 --arrival constant --warmup 1s -d 20s -c 10",
        lines: &[
            time(Mean, 14.6),
            time(Time(0.9), 53.0),
            time(Time(0.95), 78.0),
            time(Time(0.99), 98.0),
            time(Service(0.9), 5.0),
            time(Service(0.995), 100.0),
            time(PoolWait(0.9), 43.0),
            time(PoolWait(0.99), 88.0),
        ],
    },
    Case {
        name: "T4 bimodal",
        stub: "--service mix:1ms*99,100ms*1",
        load: "-r 10k --arrival constant -d 10s -c 400",
        lines: &[
            sampled(Mean, 1.99, 0.05),
            time(Time(0.5), 1.0),
            time(Time(0.9), 1.0),
            time(Time(0.995), 100.0),
        ],
    },
    Case {
        name: "T5 M/M/1, rho = 0.8",
        stub: "--service exp:1ms --discipline fifo",
        load: "-r 800 -d 300s -c 400",
        lines: &[
            sampled(Mean, 5.0, 0.05),
            sampled(Time(0.5), 3.47, 0.05),
            sampled(Time(0.9), 11.51, 0.05),
            sampled(Time(0.99), 23.03, 0.1),
        ],
    },
    Case {
        name: "T5b D/M/1, rho = 0.5",
        stub: "--service exp:1ms --discipline fifo",
        load: "-r 500 --arrival constant -d 60s -c 400",
        lines: &[sampled(Mean, 1.26, 0.05), sampled(Time(0.5), 0.87, 0.05), sampled(Time(0.99), 5.78, 0.1)],
    },
    Case {
        name: "T5c M/D/1, rho = 0.8",
        stub: "--service 1ms --discipline fifo",
        load: "-r 800 -d 120s -c 400",
        lines: &[sampled(Mean, 3.0, 0.05), sampled(Time(0.5), 2.27, 0.05), sampled(Time(0.99), 11.3, 0.1)],
    },
    Case {
        name: "T6 closed M/M/1, N = 8",
        stub: "--service exp:1ms --discipline fifo",
        load: "-d 60s -c 8",
        lines: &[
            sampled(Throughput, 1000.0, 0.02),
            sampled(Mean, 8.0, 0.02),
            sampled(Time(0.99), 16.0, 0.05),
        ],
    },
];

pub(crate) fn run(root: &Path) -> Result<(), Vec<String>> {
    let fault = |error: std::io::Error| vec![format!("oracle: {error}")];
    let build = ["build", "--release", "--locked", "--bin", "assay"];
    let built = Command::new("cargo").args(build).current_dir(root).status().map_err(fault)?;
    if !built.success() {
        return Err(vec!["oracle: assay does not compile".to_owned()]);
    }
    let assay = root.join("target/release/assay");
    let mut findings = Vec::new();
    println!("{:<24}{:<18}{:>12}{:>12}  verdict", "test", "figure", "expected", "measured");
    for case in CASES {
        let report = measure(&assay, case).map_err(|error| vec![format!("{}: {error}", case.name)])?;
        for line in case.lines {
            let measured =
                figure(&report, line.figure).ok_or_else(|| vec![format!("{}: no figure", case.name)])?;
            let right = line.holds(measured);
            let (name, verdict) = (line.figure.name(), if right { "right" } else { "WRONG" });
            println!("{:<24}{name:<18}{:>12.2}{measured:>12.2}  {verdict}", case.name, line.expected);
            if !right {
                findings
                    .push(format!("{}: {name} is {measured:.2} instead of {:.2}", case.name, line.expected));
            }
        }
        for check in report.checks.iter().filter(|check| check.outcome == Outcome::Void) {
            println!("{:<24}void by its own word: {}", case.name, check.evidence);
        }
    }
    if findings.is_empty() { Ok(()) } else { Err(findings) }
}

impl Line {
    fn holds(&self, measured: f64) -> bool {
        let added = if matches!(self.figure, Throughput) { 0.0 } else { self.added };
        measured >= self.expected * (1.0 - self.share)
            && measured <= self.expected * (1.0 + self.share) + added
    }
}

impl Figure {
    fn name(self) -> String {
        match self {
            Throughput => "throughput".to_owned(),
            Mean => "mean ms".to_owned(),
            Time(q) => format!("p{} ms", q * 100.0),
            Service(q) => format!("service p{} ms", q * 100.0),
            PoolWait(q) => format!("pool wait p{} ms", q * 100.0),
        }
    }
}

fn figure(report: &LoadReport, figure: Figure) -> Option<f64> {
    let latency = &report.latency;
    let read = |text: &str| Histogram::from_hdr_base64(text).ok();
    let main = || read(latency.response_hdr.as_ref().unwrap_or(&latency.service_hdr));
    let quantile = |histogram: Option<Histogram>, q| Some(histogram?.quantile(q)? as f64 / 1e6);
    match figure {
        Throughput => Some(report.window.ok as f64 / report.window_ns.as_secs_f64()),
        Mean => Some(main()?.mean()? / 1e6),
        Time(q) => quantile(main(), q),
        Service(q) => quantile(read(&latency.service_hdr), q),
        PoolWait(q) => quantile(read(latency.pool_wait_hdr.as_ref()?), q),
    }
}

/// The stub on the last CPU, the generator on the first; the stub ends with this function.
fn measure(assay: &Path, case: &Case) -> Result<LoadReport, String> {
    let say = |error: std::io::Error| error.to_string();
    let mut stub = Command::new(assay);
    stub.args(["stub", "-p", "0"]).args(case.stub.split(' ')).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut stub = Running(stub.spawn().map_err(say)?);
    let mut log = BufReader::new(stub.0.stderr.take().ok_or("no log")?);
    let mut line = String::new();
    log.read_line(&mut line).map_err(say)?;
    let url =
        line.split(' ').find(|word| word.starts_with("http://")).ok_or(format!("the stub says {line}"))?;
    let mut load = Command::new(assay);
    load.args(["load", url, "--json", "--threads", "1"]).args(case.load.split(' '));
    let output = load.stderr(Stdio::inherit()).output().map_err(say)?;
    serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())
}

/// Ends with its owner.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
