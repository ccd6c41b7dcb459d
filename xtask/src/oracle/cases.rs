//! The tests of docs/method/oracle.md#the-tests: a programme for the stub, a load, and what an honest
//! generator reports. The times of queues are from closed forms; that page has the truth of each.

use std::time::Duration;

use assay_model::load::ErrorClass;

use super::figure::Figure::{
    BodyBytes, ClientLag, GapVariation, LowerBound, Mean, Miscounted, Percent, PoolWait, Requests,
    RightPercent, Service, ServiceMean, SlowPercent, Throughput, Time, Void,
};
use super::figure::{Line, exactly, sampled, time, within};

/// One test.
pub(super) struct Case {
    pub(super) name: &'static str,
    /// Arguments of `assay stub`.
    pub(super) stub: &'static str,
    /// Arguments of `assay load`.
    pub(super) load: &'static str,
    /// What is asked for.
    pub(super) path: &'static str,
    /// Paths that are asked for alike, instead.
    pub(super) mix: &'static [&'static str],
    /// Whether the answer has the stub's body, which is then checked.
    pub(super) has_body: bool,
    pub(super) disturbance: Disturbance,
    pub(super) lines: &'static [Line],
}

/// What happens during the load.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Disturbance {
    None,
    /// The server stops once, after so long, for so long.
    ServerFreezes {
        after: Duration,
        span: Duration,
    },
    /// The generator stops in every period, for so long.
    GeneratorFreezes {
        every: Duration,
        span: Duration,
    },
    /// Other threads want the generator's CPU.
    Hogs,
}

impl Case {
    /// Whether the run has to call itself void.
    pub(super) fn expects_void(&self) -> bool {
        self.lines.iter().any(|line| matches!(line.figure, Void) && line.expected == 1.0)
    }

    const fn new(name: &'static str, stub: &'static str, load: &'static str, lines: &'static [Line]) -> Self {
        let (path, mix, has_body, disturbance) = ("/", &[], true, Disturbance::None);
        Self { name, stub, load, path, mix, has_body, disturbance, lines }
    }

    const fn disturbed(self, disturbance: Disturbance) -> Self {
        Self { disturbance, ..self }
    }

    /// A framing (T13): whatever way the answer comes, it is right.
    const fn framing(name: &'static str, path: &'static str) -> Self {
        Self { path, ..Self::new(name, "", "-n 2000 -c 4", ALL_RIGHT) }
    }

    const fn bodiless(self) -> Self {
        Self { has_body: false, ..self }
    }
}

pub(super) const CASES: &[Case] = &[
    Case::new("T1 fixed, constant", "--service 1ms", "-r 10k --arrival constant -d 10s -c 200", FIXED),
    Case::new("T1 fixed, Poisson", "--service 1ms", "-r 10k -d 10s -c 200", FIXED),
    Case::new(
        "T2 stall",
        "--service 1ms --stall 100ms/1s",
        "-r 10k --arrival constant -d 10s -c 1200",
        &[
            time(Mean, 6.0),
            time(Time(0.5), 1.0),
            time(Time(0.95), 51.0),
            time(Time(0.99), 91.0),
            time(Time(0.999), 100.0),
            time(Time(1.0), 101.0),
        ],
    ),
    Case::new(
        "T2b stall, d = 0.2 ms",
        "--service 200us --stall 100ms/1s",
        "-r 10k --arrival constant -d 10s -c 1200",
        &[time(Mean, 5.2), time(Time(0.95), 50.2), time(Time(0.99), 90.2), time(Time(0.999), 99.2)],
    ),
    Case::new(
        "T2c closed loop, d = 1 ms",
        "--service 1ms --stall 100ms/1s",
        "-d 10s -c 16",
        &[sampled(Throughput, 14_400.0, 0.05)],
    ),
    Case::new(
        "T2c closed, d = 0.2 ms",
        "--service 200us --stall 100ms/1s",
        "-d 10s -c 16",
        &[sampled(Throughput, 72_000.0, 0.05)],
    ),
    Case::new(
        "T3 pool",
        "--service 5ms --stall 100ms/1s",
        "-r 1000 --arrival constant --warmup 1s -d 20s -c 10",
        &[
            time(Mean, 14.6),
            time(Time(0.9), 53.0),
            time(Time(0.95), 78.0),
            time(Time(0.99), 98.0),
            time(ServiceMean, 5.97),
            time(Service(0.9), 5.0),
            time(Service(0.995), 100.0),
            time(PoolWait(0.9), 43.0),
            time(PoolWait(0.99), 88.0),
        ],
    ),
    Case::new(
        "T4 bimodal",
        "--service mix:1ms*99,100ms*1",
        "-r 10k --arrival constant -d 10s -c 400",
        &[sampled(Mean, 1.99, 0.05), time(Time(0.5), 1.0), time(Time(0.9), 1.0), time(Time(0.995), 100.0)],
    ),
    Case::new(
        "T5 M/M/1, rho = 0.8",
        QUEUE,
        "-r 800 -d 300s -c 400",
        &[
            sampled(Mean, 5.0, 0.05),
            sampled(Time(0.5), 3.47, 0.05),
            sampled(Time(0.9), 11.51, 0.05),
            sampled(Time(0.99), 23.03, 0.1),
            sampled(Time(0.999), 34.54, 0.2),
        ],
    ),
    Case::new(
        "T5 D/M/1, rho = 0.8",
        QUEUE,
        "-r 800 --arrival constant -d 120s -c 400",
        &[
            sampled(Mean, 2.69, 0.05),
            sampled(Time(0.5), 1.87, 0.05),
            sampled(Time(0.9), 6.20, 0.05),
            sampled(Time(0.99), 12.40, 0.1),
        ],
    ),
    Case::new(
        "T5b M/M/1, rho = 0.5",
        QUEUE,
        "-r 500 -d 60s -c 400",
        &[
            sampled(Mean, 2.0, 0.05),
            sampled(Time(0.5), 1.39, 0.05),
            sampled(Time(0.9), 4.61, 0.05),
            sampled(Time(0.99), 9.21, 0.1),
        ],
    ),
    Case::new(
        "T5b D/M/1, rho = 0.5",
        QUEUE,
        "-r 500 --arrival constant -d 60s -c 400",
        &[sampled(Mean, 1.26, 0.05), sampled(Time(0.5), 0.87, 0.05), sampled(Time(0.99), 5.78, 0.1)],
    ),
    Case::new(
        "T5c M/D/1, rho = 0.8",
        "--service 1ms --discipline fifo",
        "-r 800 -d 120s -c 400",
        &[
            sampled(Mean, 3.0, 0.05),
            sampled(Time(0.5), 2.27, 0.05),
            sampled(Time(0.9), 5.98, 0.05),
            sampled(Time(0.99), 11.3, 0.1),
        ],
    ),
    Case::new(
        "T6 closed M/M/1, N = 8",
        QUEUE,
        "-d 60s -c 8",
        &[sampled(Throughput, 1000.0, 0.02), sampled(Mean, 8.0, 0.02), sampled(Time(0.99), 16.0, 0.05)],
    ),
    Case::new(
        "T6 closed M/M/1, N = 64",
        QUEUE,
        "-d 60s -c 64",
        &[sampled(Throughput, 1000.0, 0.02), sampled(Mean, 64.0, 0.02), sampled(Time(0.99), 84.1, 0.05)],
    ),
    Case::new(
        "T7 server frozen",
        "",
        "-r 1000 --arrival constant -d 60s -c 400 --timeout 20s",
        &[
            sampled(Mean, 300.0, 0.02),
            sampled(Time(0.95), 3000.0, 0.01),
            sampled(Time(0.99), 5400.0, 0.01),
            sampled(Time(0.999), 5940.0, 0.01),
            sampled(Time(1.0), 6000.0, 0.01),
        ],
    )
    .disturbed(Disturbance::ServerFreezes { after: Duration::from_secs(20), span: Duration::from_secs(6) }),
    Case::new(
        "T8 generator frozen",
        "--service 1ms",
        "-r 1000 --arrival constant -d 20s -c 400",
        &[exactly(Void, 1.0), sampled(ClientLag(0.99), 90.0, 0.05), time(Service(0.99), 1.0)],
    )
    .disturbed(Disturbance::GeneratorFreezes {
        every: Duration::from_secs(1),
        span: Duration::from_millis(100),
    }),
    // 60,000 requests, 1 % of which have a standard deviation of 0.041 %.
    Case::new(
        "T9 black hole",
        "--service 200us --faults never=0.01",
        "-r 2000 --arrival constant -d 30s -c 400 --timeout 2s",
        &[
            within(Percent(ErrorClass::HeadTimeout), 1.0, 3.0 * 0.041),
            exactly(Miscounted(ErrorClass::HeadTimeout), 0.0),
            sampled(LowerBound(0.995), 2000.0, 0.005),
        ],
    ),
    Case::new(
        "T10 faults",
        "--service 200us --faults wrong-byte=0.001,status-500=0.001,reset-in-body=0.001",
        "-r 5000 --arrival constant -d 20s -c 200",
        FAULTS,
    ),
    Case::new(
        "T10 faults, closed loop",
        "--service 200us --faults wrong-byte=0.001,status-500=0.001,reset-in-body=0.001",
        "-n 100000 -c 16",
        FAULTS,
    ),
    // 40,000 requests or more, half of which have a standard deviation of 0.25 %.
    Case {
        mix: &["/1ms", "/10ms"],
        ..Case::new("T11 mix", "", "-n 40000 -c 64", &[within(SlowPercent, 50.0, 3.0 * 0.25)])
    },
    Case::new(
        "T12 arrivals, Poisson",
        "",
        "-r 10k -d 30s -c 200",
        &[within(Requests, 300_000.0, 1643.0), within(GapVariation, 100.0, 5.0)],
    ),
    Case::new(
        "T12 arrivals, constant",
        "",
        "-r 10k --arrival constant -d 30s -c 200",
        &[within(Requests, 300_000.0, 1.0), within(GapVariation, 0.0, 5.0)],
    ),
    Case::framing("T13 trickle", "/trickle"),
    Case::framing("T13 split at each offset", "/split"),
    Case::framing("T13 100 fields", "/fields"),
    Case::framing("T13 head of 64 KiB", "/long-head"),
    Case::framing("T13 chunks, trailers", "/chunked"),
    Case::framing("T13 interim responses", "/interim"),
    Case::framing("T13 ended by closing", "/close"),
    Case { load: "-n 2000 -c 4 -m HEAD --expect-status 200", ..Case::framing("T13 HEAD", "/").bodiless() },
    Case { load: "-n 2000 -c 4 --expect-status 204", ..Case::framing("T13 204", "/204").bodiless() },
    Case { load: "-n 2000 -c 4 --expect-status 304", ..Case::framing("T13 304", "/304").bodiless() },
    Case {
        load: "-n 1 -c 1 --timeout 300s --expect-status 200",
        lines: &[exactly(RightPercent, 100.0), exactly(BodyBytes, 4_294_967_299.0)],
        ..Case::framing("T13 beyond 4 GiB", "/pattern/4294967299").bodiless()
    },
    Case::new("T17 starved generator", "--service 1ms", "-r 2000 -d 10s -c 200", &[exactly(Void, 1.0)])
        .disturbed(Disturbance::Hogs),
];

const QUEUE: &str = "--service exp:1ms --discipline fifo";

const ALL_RIGHT: &[Line] = &[exactly(RightPercent, 100.0)];

const FIXED: &[Line] = &[time(Time(0.5), 1.0), time(Time(0.99), 1.0)];

/// 100,000 requests, 0.1 % of which have a standard deviation of 0.01 %; and to the stub's own count there is no distance.
const FAULTS: &[Line] = &[
    within(Percent(ErrorClass::WrongBody), 0.1, 3.0 * 0.01),
    exactly(Miscounted(ErrorClass::WrongBody), 0.0),
    exactly(Miscounted(ErrorClass::UnexpectedStatus), 0.0),
    exactly(Miscounted(ErrorClass::ResetInBody), 0.0),
];
