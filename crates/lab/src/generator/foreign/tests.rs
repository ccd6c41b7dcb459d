//! What each generator really printed: whole, cut short at every byte, and bent.

use std::collections::BTreeSet;
use std::path::Path;

use assay_host::cpuset::CpuSet;
use assay_link::Link;
use assay_model::generator::Told;
use assay_model::units::Nanos;

use super::*;
use crate::secrets::Secrets;
use crate::tools::Tools;

/// wrk 4.1.0 of Debian 12.
const WRK: &str = "Running 1s test @ http://127.0.0.1:18990/hello
  1 threads and 16 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.50ms    2.76ms  37.28ms   89.87%
    Req/Sec    19.10k     6.99k   37.31k    80.00%
  Latency Distribution
     50%  181.00us
     75%    1.90ms
     90%    4.30ms
     99%   13.39ms
  19095 requests in 1.00s, 2.20MB read
Requests/sec:  19000.30
Transfer/sec:      2.19MB
";

/// wrk where nothing was found and connections broke.
const WRK_FAILING: &str = "Running 1s test @ http://127.0.0.1:18990/nothing
  1 threads and 16 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     7.07ms   21.56ms 128.51ms   92.74%
    Req/Sec    15.22k     4.13k   18.99k    77.78%
  Latency Distribution
     50%  192.00us
     99%  115.05ms
  14721 requests in 1.10s, 2.19MB read
  Socket errors: connect 1, read 20, write 300, timeout 4000
  Non-2xx or 3xx responses: 21
Requests/sec:  14279.36
Transfer/sec:      2.15MB
";

/// wrk2 4.0.0 with -R2000, as its README shows it.
const WRK2: &str = "Running 30s test @ http://127.0.0.1:80/index.html
  2 threads and 100 connections
  Thread calibration: mean lat.: 9747 usec, rate sampling interval: 21 msec
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     6.46ms    1.93ms  12.34ms   67.66%
    Req/Sec     1.05k     1.12k    2.50k    64.84%
  Latency Distribution (HdrHistogram - Recorded Latency)
 50.000%    6.67ms
 75.000%    7.78ms
 90.000%    9.14ms
 99.000%   11.18ms
 99.900%   12.30ms
 99.990%   12.34ms
 99.999%   12.34ms
100.000%   12.34ms

  Detailed Percentile spectrum:
       Value   Percentile   TotalCount 1/(1-Percentile)

       0.921     0.000000            1         1.00
#[Mean    =        6.459, StdDeviation   =        1.925]
  60018 requests in 30.00s, 19.81MB read
Requests/sec:   2000.28
Transfer/sec:    676.18KB
";

/// h2load 1.52.0 of Debian 12.
const H2LOAD: &str = "starting benchmark...
spawning thread #0: 16 total client(s). Timing-based test with 0s of warm-up time and 1s of main duration for measurements.
Warm-up started for thread #0.
progress: 100% of clients started
Warm-up phase is over for thread #0.
Main benchmark duration is started for thread #0.
Application protocol: http/1.1
Main benchmark duration is over for thread #0. Stopping all clients.
Stopped all clients for thread #0

finished in 1.01s, 17044.00 req/s, 1.97MB/s
requests: 17044 total, 17060 started, 17044 done, 17027 succeeded, 17 failed, 2 errored, 1 timeout
status codes: 17027 2xx, 0 3xx, 0 4xx, 17 5xx
traffic: 1.97MB (2062324) total, 1.32MB (1380969) headers (space savings 0.00%), 83.25KB (85245) data
                     min         max         mean         sd        +/- sd
time for request:      103us     19.28ms       938us      1.61ms    82.99%
time for connect:        8us       135us        82us        38us    62.50%
time to 1st byte:    19.30ms     19.34ms     19.32ms        13us    62.50%
req/s           :    1029.81     1084.76     1064.99       14.63    62.50%
";

/// ab 2.3 of Debian 12.
const AB: &str = "This is ApacheBench, Version 2.3 <$Revision$>
Concurrency Level:      16
Time taken for tests:   1.000 seconds
Complete requests:      20246
Failed requests:        10
   (Connect: 0, Receive: 0, Length: 10, Exceptions: 0)
Non-2xx responses:      5
Keep-Alive requests:    20246
Requests per second:    20245.66 [#/sec] (mean)

Connection Times (ms)
              min  mean[+/-sd] median   max
Connect:        0    0   0.1      0       4
Total:          0    1   1.4      0      11

Percentage of the requests served within a certain time (ms)
  50%      0
  99%      7
 100%     11 (longest request)
";

const OHA: &str = r#"{"summary":{"successRate":0.9,"total":2.0,"slowest":0.01,"fastest":0.0001,"average":0.0015},
    "latencyPercentiles":{"p50":0.001,"p99":0.002,"p99.9":null},
    "statusCodeDistribution":{"200":10,"204":1,"500":2},"errorDistribution":{"timeout":1,"connection closed":3}}"#;

const BOMBARDIER: &str = r#"{"spec":{"numberOfConnections":16},"result":{"bytesRead":1,"timeTakenSeconds":1.5,
    "req1xx":0,"req2xx":100,"req3xx":0,"req4xx":1,"req5xx":2,"others":3,
    "latency":{"mean":500.5,"percentiles":{"50":400,"99":2000}}}}"#;

/// autocannon 9.0.0 of npm, without the distributions of requests and bytes per second.
const AUTOCANNON: &str = r#"{"url":"http://127.0.0.1:18777/","connections":4,"sampleInt":1000,"pipelining":1,"workers":0,
    "duration":1.16,"samples":1,"start":"2026-11-23T01:31:03.843Z","finish":"2026-11-23T01:31:04.998Z","errors":0,"timeouts":0,
    "mismatches":0,"non2xx":0,"resets":0,"1xx":0,"2xx":355,"3xx":0,"4xx":0,"5xx":0,"statusCodeStats":{"200":{"count":355}},
    "latency":{"average":11.06,"mean":11.06,"stddev":16.25,"min":5,"max":141,"p0_001":5,"p0_01":5,"p0_1":5,"p1":5,"p2_5":5,
    "p10":5,"p25":5,"p50":5,"p75":12,"p90":19,"p97_5":44,"p99":139,"p99_9":141,"p99_99":141,"p99_999":141,"totalCount":355}}"#;

/// autocannon where answers were errors and connections broke.
const AUTOCANNON_FAILING: &str = r#"{"url":"http://127.0.0.1:18777/","connections":4,"sampleInt":1000,"pipelining":1,"workers":0,
    "duration":1.18,"samples":1,"start":"2026-11-23T01:31:32.420Z","finish":"2026-11-23T01:31:33.602Z","errors":1,"timeouts":0,
    "mismatches":0,"non2xx":17,"resets":0,"1xx":0,"2xx":142,"3xx":0,"4xx":0,"5xx":17,
    "statusCodeStats":{"200":{"count":142},"500":{"count":17}},
    "latency":{"average":54.06,"mean":54.06,"stddev":52.74,"min":5,"max":183,"p0_001":5,"p0_01":5,"p0_1":5,"p1":5,"p2_5":5,
    "p10":5,"p25":5,"p50":32,"p75":91,"p90":135,"p97_5":174,"p99":183,"p99_9":183,"p99_99":183,"p99_999":183,"totalCount":159}}"#;

/// What each printed, and what that means: right, failed, the length and the mean in µs, and the 99th percentile in µs.
const PRINTED: [(GeneratorName, &str, [u64; 4], Option<u64>); 9] = [
    (GeneratorName::Wrk, WRK, [19_095, 0, 1_000_000, 1500], Some(13_390)),
    (GeneratorName::Wrk, WRK_FAILING, [14_700, 4342, 1_100_000, 7070], Some(115_050)),
    (GeneratorName::Wrk2, WRK2, [60_018, 0, 30_000_000, 6460], Some(11_180)),
    (GeneratorName::H2load, H2LOAD, [17_027, 17, 1_010_000, 938], None),
    (GeneratorName::Ab, AB, [20_231, 15, 1_000_000, 1000], Some(7000)),
    (GeneratorName::Oha, OHA, [11, 6, 2_000_000, 1500], Some(2000)),
    (GeneratorName::Bombardier, BOMBARDIER, [100, 6, 1_500_000, 500], Some(2000)),
    (GeneratorName::Autocannon, AUTOCANNON, [355, 0, 1_160_000, 11_060], Some(139_000)),
    (GeneratorName::Autocannon, AUTOCANNON_FAILING, [142, 18, 1_180_000, 54_060], Some(183_000)),
];

fn read(name: GeneratorName, printed: &str) -> Result<Told, String> {
    foreign(name).expect("a generator of others").read(printed)
}

#[test]
fn what_each_prints_is_understood() {
    for (name, printed, wanted, p99_us) in PRINTED {
        let told = read(name, printed).unwrap_or_else(|why| panic!("{name}: {why}"));
        let us = |time: Nanos| (time.as_secs_f64() * 1e6).round() as u64;
        let mean = told.mean_ns.map_or(0, us);
        assert_eq!([told.right, told.failed, us(told.window_ns), mean], wanted, "{name}");
        assert_eq!(told.percentile(0.99).map(us), p99_us, "{name}");
        assert!(told.percentiles.is_sorted_by(|a, b| a.quantile < b.quantile), "{name}");
    }
}

/// What breaks off tells of no more requests than the whole, and of none where it breaks off before the figures.
#[test]
fn what_is_cut_short_is_refused_or_is_less() {
    for (name, printed, wanted, _) in PRINTED {
        for end in (0..printed.len()).filter(|end| printed.is_char_boundary(*end)) {
            if let Ok(told) = read(name, &printed[..end]) {
                assert!(told.right + told.failed <= wanted[0] + wanted[1], "{name} at {end}");
            }
        }
        assert!(read(name, "").is_err(), "{name}: nothing");
        assert!(read(name, &printed[..60]).is_err(), "{name}: the beginning");
    }
}

#[test]
fn what_is_bent_is_refused_or_bounded() {
    let bent =
        [("1", "99999999999999999999999999"), ("0", "-1"), ("1", "é"), ("\n", " "), (".", ".."), (":", "")];
    for (name, printed, ..) in PRINTED {
        for (from, to) in bent {
            if let Ok(told) = read(name, &printed.replace(from, to)) {
                assert!(told.percentiles.iter().all(|told| (0.0..=1.0).contains(&told.quantile)), "{name}");
            }
        }
        let _ = read(name, &printed.repeat(20));
        let _ = read(name, &printed.to_uppercase());
    }
    let nested = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(read(GeneratorName::Oha, &nested).is_err(), "deeper than any answer");
}

#[test]
fn each_says_what_it_cannot_do() {
    let closed = Load::closed("http://127.0.0.1:1/".to_owned(), 4, 1);
    let even = Load { arrival: Arrival::Constant { per_second: 100.0 }, ..closed.clone() };
    let random = Load { arrival: Arrival::Poisson { per_second: 100.0 }, ..closed.clone() };
    let deep = Load { pipeline: 16, ..closed.clone() };
    let able = |load: &Load| -> BTreeSet<&str> {
        let able = FOREIGN.iter().filter(|generator| generator.refusal(load).is_none());
        able.map(|generator| generator.title()).collect()
    };
    let open = ["wrk2", "h2load", "oha", "bombardier", "autocannon"];
    assert_eq!(able(&closed), ["wrk", "h2load", "oha", "ab", "bombardier", "autocannon"].into());
    assert_eq!(able(&even), open.into());
    assert_eq!(able(&random), [].into(), "random arrivals are ours alone");
    assert_eq!(able(&deep), ["wrk", "h2load"].into());
    let why = foreign(GeneratorName::Wrk).and_then(|wrk| wrk.refusal(&even));
    assert_eq!(why.as_deref(), Some("has no rate, only a closed loop"));
}

#[test]
fn a_load_becomes_each_ones_arguments() {
    let folder = tempfile::tempdir().expect("a folder");
    let tools = Tools {
        assay: "assay".into(),
        files: Path::new("/").to_owned(),
        preload: None,
        secrets: Secrets::default(),
    };
    let (link, cpus) = (Link::loopback(), "0-3".parse::<CpuSet>().expect("CPUs"));
    let site = Site { tools: &tools, link: &link, cpus: &cpus, work: folder.path() };
    let headers = vec![("Accept".to_owned(), "text/plain".to_owned())];
    let load = Load { headers, timeout_s: 3, ..Load::closed("http://127.0.0.1:1/a".to_owned(), 2, 5) };
    let words = |name: GeneratorName, load: &Load| {
        let command = foreign(name).expect("known").command(load, &site).expect("a command");
        let words = command[1..].iter().map(|word| word.to_str().expect("text"));
        words.collect::<Vec<_>>().join(" ")
    };
    let rest = "-H Accept: text/plain http://127.0.0.1:1/a";
    assert_eq!(words(GeneratorName::Wrk, &load), format!("--latency -t2 -c2 -d5s --timeout 3s {rest}"));
    assert_eq!(words(GeneratorName::H2load, &load), format!("--h1 -t2 -c 2 -m 1 -D 5 -N 3 {rest}"));
    assert_eq!(words(GeneratorName::Ab, &load), format!("-q -k -r -l -t 5 -n 5000000 -s 3 -c 2 {rest}"));
    let even = Load { arrival: Arrival::Constant { per_second: 100.0 }, ..load.clone() };
    assert!(words(GeneratorName::Wrk2, &even).contains(" -R100 "));
    assert!(words(GeneratorName::H2load, &even).contains(" --rps 50 "), "for each connection");
    assert!(words(GeneratorName::Oha, &even).contains(" -c 2 -z 5s -q 100 --latency-correction "));
    let secured = Load { url: "https://127.0.0.1:1/a".to_owned(), ..load.clone() };
    assert!(words(GeneratorName::Oha, &secured).contains(" --insecure "));
    let deep = words(GeneratorName::Wrk, &Load { pipeline: 16, ..load });
    assert!(deep.ends_with("http://127.0.0.1:1/a -- 16"), "{deep}");
    assert!(folder.path().join("pipeline.lua").is_file());
}
