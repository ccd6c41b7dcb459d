// Generated from page.schema.json by `npm run types`; do not edit.

/**
 * A stack and a wire that go together: `kernel/loopback`, `kernel/veth:1gbit`, `user/xdp`, `user/xdp:1gbit,loss=0.1%`,
 * `user/ring`.
 */
export type Network = string;
/**
 * Sorts of code.
 */
export type FrameKind = "kernel" | "native" | "jit" | "unknown";
/**
 * What may be said of a pair.
 */
export type Call = "distinct" | "tie" | "equivalent";
/**
 * Who counted the answers that are a throughput.
 */
export type CountedBy = "server" | "generator";
/**
 * What is known of a server that was running already.
 */
export type Running =
  | {
      /**
       * The CPUs on which its threads may run, as a kernel list.
       */
      cpus: string;
      is: "found";
      /**
       * The processes that hold its listening sockets; the others are below them.
       */
      pids: number[];
      /**
       * Its processes, all together.
       */
      processes: number;
      /**
       * The name of its program.
       */
      program: string;
    }
  | {
      is: "unseen";
      /**
       * Why, in a sentence.
       */
      why: string;
    };
/**
 * What somebody pays for one CPU for an hour: `0.04 EUR`.
 */
export type CoreHour = string;
/**
 * What is spoken to a server.
 */
export type Protocol = "h1" | "h1+tls" | "h2c" | "h2" | "ws" | "wss" | "grpc" | "grpcs";
/**
 * The load offered in a cell, as people write it.
 */
export type Offered = string;
/**
 * A load generator: ours, or one of another project.
 */
export type GeneratorName = "assay" | "wrk" | "wrk2" | "h2load" | "oha" | "ab" | "bombardier" | "autocannon";
/**
 * A kind of database, and what is in it when a server finds it.
 */
export type DatabaseKind = "postgresql" | "mongodb";
/**
 * A content coding (RFC 9110 §8.4.1).
 */
export type Coding = "gzip";
/**
 * What a message is made of (RFC 6455 §5.6).
 */
export type MessageKind = "text" | "binary";
/**
 * What may be said of a change.
 */
export type Shift = "better" | "worse" | "equal" | "not_shown" | "not_called";
/**
 * How often a server does something for an answer.
 */
export type CountSpending = {
  /**
   * How often for each right answer: mean over restarts.
   */
  per_answer: number;
} & CountSpending1;
export type CountSpending1 =
  | {
      event: "system_call";
      /**
       * The kernel's name of it: `epoll_wait`.
       */
      name: string;
    }
  | {
      event: "voluntary_switch";
    }
  | {
      event: "involuntary_switch";
    }
  | {
      event: "page_fault";
    };
/**
 * Something that was found to hold a server's answers up.
 */
export type HeldUp = {
  /**
   * Restarts in which it was found.
   */
  restarts: number;
  /**
   * For how much it accounts, 0 to 1: of the time, where the server waits, or of its CPU time, where it works
   * ([`Cause::is_work`]).
   */
  share: number;
} & HeldUp1;
export type HeldUp1 =
  | {
      cause: "delayed_acknowledgement";
      /**
       * Acknowledgements that TCP delayed to the end.
       */
      delayed: number;
      /**
       * Median time of an answer, in nanoseconds.
       */
      median_ns: number;
      /**
       * Calls that send.
       */
      sends: number;
    }
  | {
      cause: "accept_queue";
      /**
       * Connections that were made all the same.
       */
      connections: number;
      /**
       * Connections that found the queue full.
       */
      overflows: number;
    }
  | {
      /**
       * Address of its word or object; absent for a lock that parks its threads, each at a word of its own.
       */
      address?: number | null;
      cause: "lock";
      /**
       * Class of its object, as in `java.util.concurrent.locks.ReentrantLock$NonfairSync`; absent where it has none.
       */
      class?: string | null;
      /**
       * The function that takes it; absent where the calls could not be followed.
       */
      function?: string | null;
      /**
       * Threads that waited, or goroutines.
       */
      threads: number;
      /**
       * Time waited, summed over the threads or goroutines, in nanoseconds.
       */
      wait_ns: number;
      /**
       * What waited.
       */
      waiter?: "thread" | "goroutine";
      /**
       * How often something waited for it; absent where waits were not counted, but looked at now and then.
       */
      waits?: number | null;
    }
  | {
      /**
       * The system call.
       */
      call: string;
      /**
       * How often it is made.
       */
      calls: number;
      cause: "disk";
      /**
       * Its time, in nanoseconds.
       */
      ns: number;
    }
  | {
      cause: "link";
      /**
       * Whether that is the direction from the server.
       */
      from_server: boolean;
      /**
       * What joins the two sides, as people write it: `veth:1gbit`.
       */
      link: string;
      /**
       * Share of its rate that was used in the fuller direction.
       */
      used: number;
    }
  | {
      /**
       * Share of the time that it was on a CPU or waited for one.
       */
      busy_share: number;
      cause: "one_thread";
      /**
       * CPUs of the server.
       */
      cpus: number;
      /**
       * Its name.
       */
      thread: string;
      /**
       * How many of these it kept busy in all.
       */
      used: number;
    }
  | {
      cause: "collector";
      /**
       * CPU time that it takes, in nanoseconds.
       */
      ns: number;
    }
  | {
      /**
       * Bytes of a call.
       */
      bytes: number;
      /**
       * How many calls were made.
       */
      calls: number;
      cause: "small_buffers";
      /**
       * Whether pieces of answers are small, or of requests.
       */
      sends: boolean;
    }
  | {
      cause: "run_queue";
      /**
       * CPU time, in nanoseconds.
       */
      cpu_ns: number;
      /**
       * Its CPUs; 0 where it shares them.
       */
      cpus: number;
      /**
       * Time for which threads could have run, in nanoseconds.
       */
      delay_ns: number;
      /**
       * Threads of the server.
       */
      threads: number;
    };

/**
 * Everything the page shows.
 */
export interface Page {
  /**
   * The runs, in the order in which they were named.
   */
  runs: RunPage[];
  /**
   * [`PAGE_SCHEMA`].
   */
  schema: string;
  /**
   * Experiment and verdict in a line.
   */
  title: string;
}
/**
 * One run.
 */
export interface RunPage {
  /**
   * What was found at each of [`Head::spots`], in the same order.
   */
  findings: Findings[];
  head: Head;
}
/**
 * What was found there.
 */
export interface Findings {
  /**
   * Shares answered in time, one judgement for each closed loop for which they are told.
   */
  answered: AnsweredVerdict[];
  /**
   * Durations by contender and load.
   */
  curves: Curve[];
  /**
   * Calls by contender and load, of those that were profiled.
   */
  flames: Flame[];
  /**
   * Response times at given rates, one judgement for each load.
   */
  latency: LatencyVerdict[];
  /**
   * What has to be known of their figures, in words.
   */
  notes: string[];
  pairs: Pairs;
  /**
   * Redlines, one judgement for each objective.
   */
  redlines: RedlineVerdict[];
  /**
   * Every window, in the order in which they were measured.
   */
  samples: Sample[];
  /**
   * What came of it in words: the headline of a page that shows this place.
   */
  sentences: string[];
  /**
   * Contenders at capacity, fastest first; the limit stands among them. Empty when the capacity was not measured.
   */
  standings: Standing[];
}
/**
 * What share of all requests was answered within given times, in one closed loop.
 */
export interface AnsweredVerdict {
  /**
   * Connections held open.
   */
  connections: number;
  /**
   * The TCP and the wire; absent where the experiment names none: the kernel's, over the run's link.
   */
  network?: Network | null;
  /**
   * The load that is offered.
   */
  offered?: string;
  /**
   * Requests in flight on one connection at most; over HTTP/2 each is a stream.
   */
  pipeline?: number;
  /**
   * What is spoken.
   */
  protocol?: "h1" | "h1+tls" | "h2c" | "h2" | "ws" | "wss" | "grpc" | "grpcs";
  /**
   * Contenders, those that answered most soonest first.
   */
  standings: AnsweredStanding[];
  /**
   * The times, rising, in milliseconds since a request was sent; empty where the experiment names none.
   */
  within_ms: number[];
  /**
   * Name of the workload.
   */
  workload: string;
}
/**
 * How soon one contender answered.
 */
export interface AnsweredStanding {
  /**
   * Checks that did not pass, of a loop that ends with a number of requests; those of one at capacity stand with its capacity.
   */
  checks?: Check[];
  /**
   * Name of the contender.
   */
  contender: string;
  /**
   * Requests of all rounds.
   */
  requests: number;
  /**
   * Rounds whose window counts.
   */
  rounds: number;
  /**
   * Share of all requests that were answered rightly within each of the times, 0 to 1: median over the rounds with its
   * order-statistic interval. One that failed or was given up counts as never answered.
   */
  shares: Interval[];
  /**
   * The slowest right answer of all rounds, in nanoseconds; absent where there was none.
   */
  slowest_ns: number | null;
  /**
   * Those of them that failed or were given up.
   */
  unanswered: number;
  /**
   * Why it is withheld, in a sentence; only in what is written for readers.
   */
  withheld: string | null;
}
/**
 * The outcome of one rule about a measurement, with its evidence.
 */
export interface Check {
  /**
   * The evidence in a sentence; only in what is written for readers, and in those records.
   */
  evidence: string;
  /**
   * What the rule found.
   */
  outcome: "pass" | "warn" | "void";
  /**
   * What to do about it, where it objects; only there, too.
   */
  remedy: string | null;
  /**
   * Stable name of the rule, such as `generator-saturated`.
   */
  rule: string;
}
/**
 * An estimate with its interval.
 */
export interface Interval {
  /**
   * Probability that a procedure like this covers the truth, 0 to 1; 0 where one round gave a single figure, which is
   * then also both ends.
   */
  confidence: number;
  /**
   * Best guess.
   */
  estimate: number;
  /**
   * Upper end.
   */
  high: number;
  /**
   * Lower end.
   */
  low: number;
}
/**
 * The durations of one contender at one load, over the rounds that count.
 */
export interface Curve {
  /**
   * Name of the contender.
   */
  contender: string;
  /**
   * Greatest of the rounds, as long as `median_ns`.
   */
  high_ns: (number | null)[];
  /**
   * Least of the rounds, as long as `median_ns`.
   */
  low_ns: (number | null)[];
  /**
   * Median over the rounds at each of [`Head::quantiles`](super::Head::quantiles), in nanoseconds; absent where requests left
   * too late to tell it. It ends where too few values lie above, and before requests that were given up.
   */
  median_ns: (number | null)[];
  /**
   * The load, as people write it. The times are service times in a closed loop, else response times.
   */
  offered: string;
  /**
   * Share of all requests that were answered rightly within each bound, over all rounds; the bounds after the last one
   * have the same share.
   */
  shares: number[];
  /**
   * How many of [`Head::bounds_ns`](super::Head::bounds_ns) come before the first share that is told.
   */
  shares_from: number;
}
/**
 * Where the CPU time of a contender went under one load, by call: a tree in preorder, in columns of equal length.
 */
export interface Flame {
  /**
   * Name of the contender.
   */
  contender: string;
  /**
   * How many calls lead to each node; the first is the root, with 0.
   */
  depth: number[];
  /**
   * What sort of code each of these is.
   */
  kinds: FrameKind[];
  /**
   * The function of each node, as its index in `names`.
   */
  name: number[];
  /**
   * Functions, each once.
   */
  names: string[];
  /**
   * CPU time for each right answer in each node and all that it calls, in nanoseconds.
   */
  ns: number[];
  /**
   * The load, as people write it: `max` for a closed loop.
   */
  offered: string;
  /**
   * Restarts that it is the mean of.
   */
  restarts: number;
}
/**
 * The response times of one cell at a given rate.
 */
export interface LatencyVerdict {
  /**
   * Connections held open.
   */
  connections: number;
  /**
   * The TCP and the wire; absent where the experiment names none: the kernel's, over the run's link.
   */
  network?: Network | null;
  /**
   * The load that is offered.
   */
  offered?: string;
  /**
   * Every pair of contenders whose tails can be compared; only where all were offered the same rate.
   */
  pairs: LatencyPair[];
  /**
   * Requests in flight on one connection at most; over HTTP/2 each is a stream.
   */
  pipeline?: number;
  /**
   * What is spoken.
   */
  protocol?: "h1" | "h1+tls" | "h2c" | "h2" | "ws" | "wss" | "grpc" | "grpcs";
  /**
   * Contenders, the shortest 99th percentile first.
   */
  standings: LatencyStanding[];
  /**
   * Name of the workload.
   */
  workload: string;
}
/**
 * The tails of two contenders at the same rate.
 */
export interface LatencyPair {
  /**
   * What may be said.
   */
  call: "distinct" | "tie" | "equivalent";
  /**
   * Name of the one with the longer 99th percentile.
   */
  longer: string;
  ratio: Interval1;
  /**
   * Name of the other.
   */
  shorter: string;
}
/**
 * An estimate with its interval.
 */
export interface Interval1 {
  /**
   * Probability that a procedure like this covers the truth, 0 to 1; 0 where one round gave a single figure, which is
   * then also both ends.
   */
  confidence: number;
  /**
   * Best guess.
   */
  estimate: number;
  /**
   * Upper end.
   */
  high: number;
  /**
   * Lower end.
   */
  low: number;
}
/**
 * One contender's response times at a given rate.
 */
export interface LatencyStanding {
  /**
   * Checks that did not pass.
   */
  checks: Check[];
  /**
   * Name of the contender.
   */
  contender: string;
  /**
   * What an answer takes of the machine's energy; absent where that is not counted.
   */
  energy?: EnergyPerAnswer | null;
  /**
   * Failed requests over all rounds.
   */
  failed: number;
  /**
   * Offered load in requests per second; absent where no rate is known, so that none was offered.
   */
  offered_per_second: number | null;
  /**
   * The percentiles that may be told, rising.
   */
  quantiles: ResponseQuantile[];
  /**
   * Rounds whose window counts.
   */
  rounds: number;
  /**
   * The offered rate as a share of the contender's capacity in the same cell over all rounds; absent when that is not known.
   */
  share_of_capacity: number | null;
  /**
   * Why it is withheld, in a sentence; only in what is written for readers.
   */
  withheld: string | null;
}
/**
 * What a right answer takes of the machine's energy: means over restarts, in microjoules.
 */
export interface EnergyPerAnswer {
  /**
   * What it took beyond that.
   */
  beyond_idle_uj?: Interval | null;
  /**
   * What the machine takes idle in the same time; absent where that is not known.
   */
  idle_uj?: number | null;
  whole_uj: Interval2;
}
/**
 * An estimate with its interval.
 */
export interface Interval2 {
  /**
   * Probability that a procedure like this covers the truth, 0 to 1; 0 where one round gave a single figure, which is
   * then also both ends.
   */
  confidence: number;
  /**
   * Best guess.
   */
  estimate: number;
  /**
   * Upper end.
   */
  high: number;
  /**
   * Lower end.
   */
  low: number;
}
/**
 * A percentile of the response time.
 */
export interface ResponseQuantile {
  /**
   * Whether it reaches requests of which it is only known that they took longer, so that the truth may be greater.
   */
  is_lower_bound: boolean;
  /**
   * The quantile, 0 to 1.
   */
  quantile: number;
  response_ns: Interval3;
}
/**
 * An estimate with its interval.
 */
export interface Interval3 {
  /**
   * Probability that a procedure like this covers the truth, 0 to 1; 0 where one round gave a single figure, which is
   * then also both ends.
   */
  confidence: number;
  /**
   * Best guess.
   */
  estimate: number;
  /**
   * Upper end.
   */
  high: number;
  /**
   * Lower end.
   */
  low: number;
}
/**
 * Every pair of ranked contenders.
 */
export interface Pairs {
  /**
   * What may be said.
   */
  call: Call[];
  /**
   * Throughput of the first over that of the second.
   */
  estimate: number[];
  /**
   * The one with the higher estimate, as its index in [`Findings::standings`].
   */
  faster: number[];
  /**
   * Upper end.
   */
  high: number[];
  /**
   * Lower end of its interval, simultaneous over all pairs.
   */
  low: number[];
  /**
   * The other.
   */
  slower: number[];
}
/**
 * The redlines of one cell: the highest rates that keep the objective, which is in the cell's load.
 */
export interface RedlineVerdict {
  /**
   * Connections held open.
   */
  connections: number;
  /**
   * The TCP and the wire; absent where the experiment names none: the kernel's, over the run's link.
   */
  network?: Network | null;
  /**
   * The load that is offered.
   */
  offered?: string;
  /**
   * Requests in flight on one connection at most; over HTTP/2 each is a stream.
   */
  pipeline?: number;
  /**
   * What is spoken.
   */
  protocol?: "h1" | "h1+tls" | "h2c" | "h2" | "ws" | "wss" | "grpc" | "grpcs";
  /**
   * Contenders, the highest redline first.
   */
  standings: RedlineStanding[];
  /**
   * Name of the workload.
   */
  workload: string;
}
/**
 * One contender's redline: it lies between the rate that was kept and the rate that was missed.
 */
export interface RedlineStanding {
  /**
   * Name of the contender.
   */
  contender: string;
  /**
   * How the search ended.
   */
  end: "confirmed" | "above_highest" | "below_lowest" | "unfinished" | "too_many_void";
  /**
   * Shortest response time there, in nanoseconds; absent where some rate keeps the objective.
   */
  fastest_at_missed_ns?: number | null;
  /**
   * Highest rate known to keep the objective, in requests per second; absent when none is.
   */
  kept_per_second: number | null;
  /**
   * Median response time at that rate, in nanoseconds, where no rate keeps the objective; absent otherwise.
   */
  median_at_missed_ns?: number | null;
  /**
   * Lowest rate known to miss it; absent when none is.
   */
  missed_per_second: number | null;
  /**
   * Highest rate at which a server kept it again after it had been overloaded, 0 for one that did so at no rate; absent when
   * that was not found out.
   */
  recovered_per_second: number | null;
  /**
   * Servers that were started for them; 0 for one that was running already.
   */
  servers: number;
  /**
   * The kept rate over the contender's capacity in the same cell; absent when either is not known.
   */
  share_of_capacity: number | null;
  /**
   * Trials made.
   */
  trials: number;
  /**
   * Those that were void.
   */
  void_windows: number;
  /**
   * Windows measured.
   */
  windows: number;
}
/**
 * One measured window.
 */
export interface Sample {
  /**
   * Whether each of these reaches requests of which it is only known that they took longer.
   */
  are_lower_bounds: boolean[];
  /**
   * Name of the contender.
   */
  contender: string;
  /**
   * Whether the verdict counts it.
   */
  counts: boolean;
  /**
   * The load, as people write it: `max` for a closed loop.
   */
  offered: string;
  /**
   * Requests per second that were offered; absent for a closed loop.
   */
  offered_per_second: number | null;
  /**
   * When it began, after the start of the whole run.
   */
  offset_ns: number;
  /**
   * Right answers per second.
   */
  per_second: number;
  /**
   * The duration at each of [`Head::sample_quantiles`](super::Head::sample_quantiles), in nanoseconds: service time of a
   * closed loop, else response time. Absent where too few values lie above, or requests left too late to tell.
   */
  quantiles_ns: (number | null)[];
  /**
   * Index of the round.
   */
  round: number;
  /**
   * Rules that the generator found broken in this window, so that it alone should not be used.
   */
  void: string[];
}
/**
 * One contender in one cell.
 */
export interface Standing {
  /**
   * How old its servers were when they were measured; absent where that is not known.
   */
  ages?: Ages | null;
  /**
   * Checks that did not pass.
   */
  checks: Check[];
  /**
   * How many of the rules of HTTP/1.1 and of its test types it keeps; absent when it was not asked.
   */
  conformance?: Score | null;
  /**
   * Name of the contender.
   */
  contender: string;
  /**
   * CPU time of the server per right answer: median over rounds, in nanoseconds.
   */
  cpu_per_request_ns: number | null;
  /**
   * What an answer takes of the machine's energy; absent where that is not counted.
   */
  energy?: EnergyPerAnswer | null;
  /**
   * Failed requests over all rounds.
   */
  failed: number;
  /**
   * Share of the busiest generator thread's CPU: median over the windows whose rate counts, 0 to 1; absent where none does.
   */
  generator_busy_share: number | null;
  /**
   * What the generator could send here, over what it sent: its capacity as shown against the limit, with the same bytes.
   */
  headroom?: number | null;
  /**
   * Compact letters: two contenders that share one are not shown to differ.
   */
  letters: string;
  /**
   * What the limit was concluded from, in a sentence; only there, too.
   */
  limit_evidence: string;
  /**
   * What held the throughput where it is.
   */
  limited_by:
    | "server"
    | "server_core"
    | "generator"
    | "both"
    | "database"
    | "upstream"
    | "link"
    | "connections"
    | "neither"
    | "unknown";
  /**
   * Memory at a window's end, median over the rounds, in bytes ([`crate::usage::Usage::memory_bytes`]).
   */
  memory_bytes: number | null;
  /**
   * Service time at this many in flight, 50th percentile: median over rounds, in nanoseconds.
   */
  p50_ns: Interval | null;
  /**
   * Service time at this many in flight, 99th percentile: median over rounds, in nanoseconds.
   */
  p99_ns: Interval | null;
  price: Price;
  /**
   * What a million right answers cost by that CPU time, where the price of an hour of a CPU was given.
   */
  price_per_million?: Money | null;
  /**
   * Throughput of each round that counts, in the rounds' order; absent where a round gave none.
   */
  rounds_per_second: (number | null)[];
  /**
   * Share of the server's CPUs that its processes used: median over the windows whose rate counts, 0 to 1.
   */
  server_busy_share: number | null;
  /**
   * Throughput over that of the limit, paired by round; absent without a limit, and for the limit itself.
   */
  share_of_limit: Interval | null;
  /**
   * From start to first right answer: median over rounds, in nanoseconds.
   */
  startup_ns: number | null;
  /**
   * Validated responses per second in a typical round; at a rate that was asked for, the geometric mean over the rounds. Absent when
   * withheld.
   */
  throughput_per_second: Interval | null;
  /**
   * Tier, 1 is the fastest; absent for the limit and for the unranked.
   */
  tier: number | null;
  /**
   * Mean of the rounds but the best and the worst, where the experiment asks for it and there are three.
   */
  trimmed_mean_per_second?: number | null;
  /**
   * Why it is withheld, in a sentence; only in what is written for readers.
   */
  withheld: string | null;
}
/**
 * How old servers were when what counts of them was measured: from the youngest to the oldest.
 */
export interface Ages {
  /**
   * Least time since it was started.
   */
  lived_from_ns: number;
  /**
   * Most time.
   */
  lived_to_ns: number;
  /**
   * Least load that one had behind it when something that counts began.
   */
  loaded_from_ns: number;
  /**
   * Most load that one had behind it when something that counts ended.
   */
  loaded_to_ns: number;
}
/**
 * How many of the rules that apply are kept.
 */
export interface Score {
  /**
   * Rules that are kept or broken.
   */
  applicable: number;
  /**
   * Rules that are kept.
   */
  kept: number;
}
/**
 * What an answer costs the server.
 */
export interface Price {
  /**
   * Cycles of its CPUs.
   */
  cycles: number | null;
  /**
   * Instructions on its CPUs.
   */
  instructions: number | null;
  /**
   * Times a thread was taken off its CPU.
   */
  involuntary_switches: number | null;
  /**
   * Page faults of both kinds.
   */
  page_faults: number | null;
  /**
   * Resident memory before the first load, in bytes.
   */
  rss_idle_bytes: number | null;
  /**
   * System calls on its CPUs.
   */
  system_calls: number | null;
  /**
   * CPU time in kernel mode, in nanoseconds.
   */
  system_ns: number | null;
  /**
   * CPU time in user mode, in nanoseconds.
   */
  user_ns: number | null;
  /**
   * Times a thread gave up its CPU to wait.
   */
  voluntary_switches: number | null;
}
/**
 * An amount of money, with its interval where it is known how far restarts scatter.
 */
export interface Money {
  amount: Interval4;
  /**
   * Of what, as the price of an hour was written; empty where it was a bare number.
   */
  currency: string;
}
/**
 * An estimate with its interval.
 */
export interface Interval4 {
  /**
   * Probability that a procedure like this covers the truth, 0 to 1; 0 where one round gave a single figure, which is
   * then also both ends.
   */
  confidence: number;
  /**
   * Best guess.
   */
  estimate: number;
  /**
   * Upper end.
   */
  high: number;
  /**
   * Lower end.
   */
  low: number;
}
/**
 * What every view of it needs.
 */
export interface Head {
  /**
   * What proxies add to response times, cell by cell.
   */
  added_latency: AddedLatency[];
  /**
   * The durations under which shares are told, rising, in nanoseconds.
   */
  bounds_ns: number[];
  /**
   * What several generators say of the same servers, by cell; empty where ours alone loaded them.
   */
  by_generator: ByGenerator[];
  /**
   * All contenders that were asked for.
   */
  contenders: Entry[];
  /**
   * Every run that ended early, in order.
   */
  failures: Failure[];
  /**
   * Generators that were not run, or left cells out, in words, each with its remedy.
   */
  generators_missing: string[];
  /**
   * What each host did; absent where all was on one.
   */
  hosts: HostTable | null;
  /**
   * The fastest at the first of them: which the page shows first where there are too many to show all.
   */
  leaders: string[];
  /**
   * The smallest difference that is called one, in words; absent where figures were imported.
   */
  margin_in_words: string | null;
  /**
   * How far a contender seemed to differ from itself; absent when none took part twice.
   */
  noise_floor: NoiseFloor | null;
  /**
   * What a protocol costs, by pair of protocols; empty where one alone was measured.
   */
  protocol_cost: ProtocolComparison[];
  /**
   * What proxies cost in throughput, cell by cell; empty where none was measured.
   */
  proxy_cost: ProxyCost[];
  /**
   * The figures of the work that the experiment repeats, and ours beside them; absent where it repeats none.
   */
  published: Beside | null;
  /**
   * The quantiles of every curve, rising, 0 to 1.
   */
  quantiles: number[];
  /**
   * When each round began, in nanoseconds after the start of the whole run.
   */
  round_offsets_ns: number[];
  /**
   * Rounds that count.
   */
  rounds: number;
  run: RunFacts;
  /**
   * The quantiles of every sample, rising, 0 to 1.
   */
  sample_quantiles: number[];
  /**
   * The findings in words, most important first.
   */
  sentences: string[];
  /**
   * What changed since the last run of the same experiment; absent where there was none.
   */
  since: Since | null;
  /**
   * Where something was measured, in the experiment's order.
   */
  spots: Spot[];
  /**
   * What the stack costs, by pair of networks; empty where one stack alone was measured.
   */
  stack_cost: StackComparison[];
  /**
   * What the user-space stacks of both ends did in every cell that is compared there.
   */
  stack_counters: StackCounters[];
  /**
   * Checks over the whole run, each with its evidence.
   */
  trust: Check[];
  /**
   * Checks that did not pass, gathered by rule, worst first.
   */
  warnings: Warning[];
  /**
   * Where the time of those goes that were profiled, cell by cell; empty where nobody was.
   */
  why: Explained[];
}
/**
 * What a proxy adds to response times at a given rate: windows through it, and straight to the upstream behind it, in pairs.
 */
export interface AddedLatency {
  /**
   * Connections held open.
   */
  connections: number;
  /**
   * Name of the proxy.
   */
  contender: string;
  /**
   * The TCP and the wire; absent where the experiment names none: the kernel's, over the run's link.
   */
  network?: Network | null;
  /**
   * The load that is offered.
   */
  offered?: string;
  /**
   * Offered load in requests per second, the same in both windows of a pair.
   */
  offered_per_second: number;
  /**
   * Pairs of windows that count, one of each round.
   */
  pairs: number;
  /**
   * Requests in flight on one connection at most; over HTTP/2 each is a stream.
   */
  pipeline?: number;
  /**
   * What is spoken.
   */
  protocol?: "h1" | "h1+tls" | "h2c" | "h2" | "ws" | "wss" | "grpc" | "grpcs";
  /**
   * The percentiles that may be told, rising.
   */
  quantiles: AddedQuantile[];
  /**
   * Why it is withheld, in a sentence; only in what is written for readers.
   */
  withheld?: string | null;
  /**
   * Name of the workload.
   */
  workload: string;
}
/**
 * A percentile of the response time through a proxy less the same percentile straight.
 */
export interface AddedQuantile {
  added_ns: Interval5;
  /**
   * The quantile, 0 to 1.
   */
  quantile: number;
  /**
   * Straight to the upstream, in nanoseconds: median over the rounds.
   */
  straight_ns: number;
  /**
   * Through the proxy, in nanoseconds: median over the rounds.
   */
  through_ns: number;
}
/**
 * An estimate with its interval.
 */
export interface Interval5 {
  /**
   * Probability that a procedure like this covers the truth, 0 to 1; 0 where one round gave a single figure, which is
   * then also both ends.
   */
  confidence: number;
  /**
   * Best guess.
   */
  estimate: number;
  /**
   * Upper end.
   */
  high: number;
  /**
   * Lower end.
   */
  low: number;
}
/**
 * One cell in which several generators loaded the same servers.
 */
export interface ByGenerator {
  /**
   * Connections held open.
   */
  connections: number;
  /**
   * The TCP and the wire; absent where the experiment names none: the kernel's, over the run's link.
   */
  network?: Network | null;
  /**
   * What must be known of the figures, in words.
   */
  notes: string[];
  /**
   * The load that is offered.
   */
  offered?: string;
  /**
   * Requests in flight on one connection at most; over HTTP/2 each is a stream.
   */
  pipeline?: number;
  /**
   * What is spoken.
   */
  protocol?: "h1" | "h1+tls" | "h2c" | "h2" | "ws" | "wss" | "grpc" | "grpcs";
  /**
   * Every contender under every generator, ours first.
   */
  standings: CrossCheckStanding[];
  /**
   * Name of the workload.
   */
  workload: string;
}
/**
 * One contender under one generator. Ours is measured here as the others are, in windows of its own, which are none of those
 * that rank.
 */
export interface CrossCheckStanding {
  /**
   * Share of its threads' CPUs that the generator used, 0 to 1, median over the rounds. One that uses all of them tells its own
   * speed.
   */
  busy_share: number | null;
  /**
   * Name of the contender.
   */
  contender: string;
  /**
   * Who counted these answers.
   */
  counted_by: CountedBy | null;
  /**
   * Requests that it calls failed, over all rounds.
   */
  failed: number;
  /**
   * Why it did, the last time.
   */
  failure?: string | null;
  /**
   * Windows in which it failed itself.
   */
  failures: number;
  /**
   * The generator that loaded it.
   */
  generator: "assay" | "wrk" | "wrk2" | "h2load" | "oha" | "ab" | "bombardier" | "autocannon";
  /**
   * Whether it used so much that its ratios are not held against ours.
   */
  is_saturated: boolean;
  /**
   * By how much its count of answers leaves the server's, as a share, at its worst; absent where the server does not count.
   */
  miscount: number | null;
  /**
   * Right answers per second of the generator's own CPU time, median over the rounds.
   */
  per_cpu_second: number | null;
  /**
   * Right answers per second, the geometric mean over the rounds; absent where there were none.
   */
  per_second: Interval | null;
  /**
   * Rounds whose window counts.
   */
  rounds: number;
  /**
   * Throughput over that under our generator, paired by round; absent for ours, and where either is not known.
   */
  to_ours: Interval | null;
  /**
   * The 50th percentile as the generator tells it, in nanoseconds, median over the rounds. Generators do not agree on what a
   * response time is: it is for nobody to compare.
   */
  told_p50_ns: number | null;
  /**
   * The 99th percentile as it tells it.
   */
  told_p99_ns: number | null;
  /**
   * Windows that do not count, as others used the CPUs.
   */
  void: number;
}
/**
 * A contender as it took part.
 */
export interface Entry {
  /**
   * One sentence on its set-up.
   */
  about: string;
  /**
   * The command that started it; empty for a URL.
   */
  command: string[];
  /**
   * What it keeps of the rules of HTTP/1.1 and of its test types; absent when it was not asked.
   */
  conformance?: Conformance | null;
  /**
   * What it is.
   */
  kind: "server" | "framework" | "proxy" | "limit";
  /**
   * Language; empty when unknown.
   */
  language: string;
  /**
   * Unique name in this run.
   */
  name: string;
  /**
   * Why it was not run, or given up after it had been measured, if so.
   */
  not_run?: NotRun | null;
  /**
   * Why it was not run in one of several settings; the others go on.
   */
  not_run_on?: NotRunOn[];
  /**
   * Where it came from.
   */
  origin:
    | "folder"
    | "command"
    | {
        url: string;
      };
  /**
   * Arguments of the command with which its runtime tells the names of what it compiles, for the sake of profiles; empty
   * where it was started as it always is.
   */
  profile_arguments?: string[];
  /**
   * For a URL, whose server that is on this machine and where it runs.
   */
  running?: Running | null;
  /**
   * How people call it.
   */
  title: string;
  /**
   * Deviations from its defaults.
   */
  tuning: string[];
  /**
   * Name of the contender that this is, taking part a second time for the noise floor; absent for a contender proper.
   */
  twin_of?: string | null;
  /**
   * Versions found, by what they are versions of.
   */
  versions: {
    [k: string]: string;
  };
  /**
   * Names of the workloads it answers; empty when nobody said, so that every one is tried.
   */
  workloads: string[];
}
/**
 * What one server keeps of a set of rules.
 */
export interface Conformance {
  /**
   * How long the asking took.
   */
  elapsed_ns: number;
  /**
   * One finding per rule, in the order of the suite.
   */
  findings: Finding[];
}
/**
 * What one rule found.
 */
export interface Finding {
  /**
   * What was sent and received when it is broken, or why it does not apply; absent when it is kept.
   */
  evidence?: string | null;
  /**
   * Stable name of the rule, such as `two-hosts`.
   */
  rule: string;
  /**
   * Whether it is kept.
   */
  ruling: "kept" | "broken" | "not_applicable";
  /**
   * The rule in a sentence.
   */
  sentence: string;
  /**
   * How much it weighs.
   */
  severity: "should" | "must";
  /**
   * Where it is written: a section of an RFC, or the rules of a test type.
   */
  source: string;
}
/**
 * Why a contender, or one run of it, yielded nothing.
 */
export interface NotRun {
  /**
   * The last lines of its log.
   */
  log_tail?: string[];
  /**
   * What happened, in a sentence.
   */
  reason: string;
  /**
   * How to mend it, if known.
   */
  remedy?: string | null;
  /**
   * At which step.
   */
  stage: "needs" | "build" | "start" | "answer" | "load";
}
/**
 * Why a contender yielded nothing in a setting.
 */
export interface NotRunOn {
  /**
   * The last lines of its log.
   */
  log_tail?: string[];
  /**
   * The network; absent where the experiment names none.
   */
  network?: Network | null;
  /**
   * The protocol.
   */
  protocol?: "h1" | "h1+tls" | "h2c" | "h2" | "ws" | "wss" | "grpc" | "grpcs";
  /**
   * What happened, in a sentence.
   */
  reason: string;
  /**
   * How to mend it, if known.
   */
  remedy?: string | null;
  /**
   * At which step.
   */
  stage: "needs" | "build" | "start" | "answer" | "load";
}
/**
 * A run that ended early.
 */
export interface Failure {
  /**
   * Name of the contender.
   */
  contender: string;
  /**
   * Planned cells that it did not reach.
   */
  missing: Cell[];
  /**
   * The network that it was started on; absent where the experiment names none.
   */
  network: Network | null;
  /**
   * When it was started, after the start of the whole run.
   */
  offset_ns: number;
  /**
   * What it was started to speak.
   */
  protocol: "h1" | "h1+tls" | "h2c" | "h2" | "ws" | "wss" | "grpc" | "grpcs";
  /**
   * Index of the round.
   */
  round: number;
  why: NotRun1;
}
/**
 * One cell of an experiment: a workload over a number of connections at a load.
 */
export interface Cell {
  /**
   * Connections held open.
   */
  connections: number;
  /**
   * The TCP and the wire; absent where the experiment names none: the kernel's, over the run's link.
   */
  network?: Network | null;
  /**
   * The load that is offered.
   */
  offered?: string;
  /**
   * Requests in flight on one connection at most; over HTTP/2 each is a stream.
   */
  pipeline?: number;
  /**
   * What is spoken.
   */
  protocol?: "h1" | "h1+tls" | "h2c" | "h2" | "ws" | "wss" | "grpc" | "grpcs";
  /**
   * Name of the workload.
   */
  workload: string;
}
/**
 * Why a contender, or one run of it, yielded nothing.
 */
export interface NotRun1 {
  /**
   * The last lines of its log.
   */
  log_tail?: string[];
  /**
   * What happened, in a sentence.
   */
  reason: string;
  /**
   * How to mend it, if known.
   */
  remedy?: string | null;
  /**
   * At which step.
   */
  stage: "needs" | "build" | "start" | "answer" | "load";
}
/**
 * The hosts of a run.
 */
export interface HostTable {
  /**
   * The heads of all columns behind the host's name.
   */
  heads: string[];
  /**
   * What must be known of them, in words.
   */
  notes: string[];
  /**
   * Each host, the servers' first.
   */
  rows: HostRow[];
}
/**
 * One host.
 */
export interface HostRow {
  /**
   * Whether it was late or lost, or its answers are not those of the others.
   */
  is_odd: boolean;
  /**
   * The host's name.
   */
  name: string;
  /**
   * What stands in each column.
   */
  texts: string[];
}
/**
 * One contender against itself, restarted independently: what equals seem to differ by on this machine.
 */
export interface NoiseFloor {
  /**
   * Name of the contender that took part twice.
   */
  contender: string;
  /**
   * Half-width of the ratio's interval as a share (0.01 is 1 %): the median over the cells.
   */
  half_width: number;
  /**
   * Throughput of the one over that of the other in each cell, the intervals simultaneous over all cells.
   */
  ratios: SelfRatio[];
}
/**
 * A contender's throughput over its own, paired by round.
 */
export interface SelfRatio {
  /**
   * Connections held open.
   */
  connections: number;
  /**
   * The TCP and the wire; absent where the experiment names none: the kernel's, over the run's link.
   */
  network?: Network | null;
  /**
   * The load that is offered.
   */
  offered?: string;
  /**
   * Requests in flight on one connection at most; over HTTP/2 each is a stream.
   */
  pipeline?: number;
  /**
   * What is spoken.
   */
  protocol?: "h1" | "h1+tls" | "h2c" | "h2" | "ws" | "wss" | "grpc" | "grpcs";
  ratio: Interval6;
  /**
   * Name of the workload.
   */
  workload: string;
}
/**
 * An estimate with its interval.
 */
export interface Interval6 {
  /**
   * Probability that a procedure like this covers the truth, 0 to 1; 0 where one round gave a single figure, which is
   * then also both ends.
   */
  confidence: number;
  /**
   * Best guess.
   */
  estimate: number;
  /**
   * Upper end.
   */
  high: number;
  /**
   * Lower end.
   */
  low: number;
}
/**
 * A protocol against the one that it runs over.
 */
export interface ProtocolComparison {
  /**
   * The one beneath: `h1`.
   */
  base: "h1" | "h1+tls" | "h2c" | "h2" | "ws" | "wss" | "grpc" | "grpcs";
  /**
   * The protocol: `h1+tls`.
   */
  protocol: "h1" | "h1+tls" | "h2c" | "h2" | "ws" | "wss" | "grpc" | "grpcs";
  /**
   * Every contender in every cell, in the experiment's order.
   */
  rows: ProtocolCost[];
}
/**
 * What a protocol costs a contender: the same program in the same rounds, with it and with the protocol that it runs over.
 */
export interface ProtocolCost {
  /**
   * The protocol beneath, with which it is compared.
   */
  base: "h1" | "h1+tls" | "h2c" | "h2" | "ws" | "wss" | "grpc" | "grpcs";
  /**
   * Connections of the cell beneath, one request in flight on each, where it differs in that too: as many requests are in flight
   * there as on the streams of HTTP/2.
   */
  base_connections?: number | null;
  /**
   * Its throughput over the protocol beneath.
   */
  base_per_second: Interval | null;
  /**
   * What may be said of it: [`Call::Distinct`] where the interval leaves the margin around 1.
   */
  call: Call | null;
  /**
   * Connections held open.
   */
  connections: number;
  /**
   * Name of the contender.
   */
  contender: string;
  /**
   * The TCP and the wire; absent where the experiment names none: the kernel's, over the run's link.
   */
  network?: Network | null;
  /**
   * The load that is offered.
   */
  offered?: string;
  /**
   * 50th percentile of the service time over the protocol to that over the one beneath, medians over rounds.
   */
  p50_ratio: number | null;
  /**
   * Right answers per second over the protocol; absent when withheld.
   */
  per_second: Interval | null;
  /**
   * Requests in flight on one connection at most; over HTTP/2 each is a stream.
   */
  pipeline?: number;
  /**
   * What is spoken.
   */
  protocol?: "h1" | "h1+tls" | "h2c" | "h2" | "ws" | "wss" | "grpc" | "grpcs";
  /**
   * The first throughput over the second, paired by round, each pair on its own; absent when either is withheld.
   */
  ratio: Interval | null;
  /**
   * Why it is withheld, in a sentence; only in what is written for readers.
   */
  withheld?: string | null;
  /**
   * Name of the workload.
   */
  workload: string;
}
/**
 * What a proxy costs in throughput: it, and the reference server in its place, in the same rounds.
 */
export interface ProxyCost {
  /**
   * What may be said of it: [`Call::Distinct`] where the interval leaves the margin around 1.
   */
  call: Call | null;
  /**
   * Connections held open.
   */
  connections: number;
  /**
   * Name of the proxy.
   */
  contender: string;
  /**
   * CPU time of the proxy for each right answer, in nanoseconds: median over the rounds.
   */
  cpu_per_request_ns: number | null;
  /**
   * The TCP and the wire; absent where the experiment names none: the kernel's, over the run's link.
   */
  network?: Network | null;
  /**
   * The load that is offered.
   */
  offered?: string;
  /**
   * Right answers per second through the proxy; absent when withheld.
   */
  per_second: Interval | null;
  /**
   * Requests in flight on one connection at most; over HTTP/2 each is a stream.
   */
  pipeline?: number;
  /**
   * What is spoken.
   */
  protocol?: "h1" | "h1+tls" | "h2c" | "h2" | "ws" | "wss" | "grpc" | "grpcs";
  /**
   * The first throughput over the second, paired by round, each pair on its own; absent when either is withheld.
   */
  ratio: Interval | null;
  /**
   * Name of the server that answers without a proxy: the program that is also behind it.
   */
  straight: string;
  /**
   * Right answers per second of the server alone, on the CPUs that the proxy has.
   */
  straight_per_second: Interval | null;
  /**
   * CPU time of the upstream behind it for each right answer, in nanoseconds: median over the rounds.
   */
  upstream_cpu_per_request_ns: number | null;
  /**
   * Why it is withheld, in a sentence; only in what is written for readers.
   */
  withheld?: string | null;
  /**
   * Name of the workload.
   */
  workload: string;
}
/**
 * A published table and ours beside it.
 */
export interface Beside {
  /**
   * Name of the contender to which the others stand in ratio, in both tables: the first of the source's that was measured
   * here; absent where none was.
   */
  baseline: string | null;
  /**
   * What differs from column to column, as the source has it.
   */
  columns: string[];
  /**
   * What they are.
   */
  figures: "throughput" | "answered_within_ms";
  /**
   * A stack and a wire that go together: `kernel/loopback`, `kernel/veth:1gbit`, `user/xdp`, `user/xdp:1gbit,loss=0.1%`,
   * `user/ring`.
   */
  network: string;
  /**
   * What they are, in words.
   */
  quantity: string;
  /**
   * The source's contenders in its order, then the others of ours.
   */
  rows: BesideRow[];
  /**
   * What follows, in words, with what is assumed.
   */
  sentences: string[];
  /**
   * Where the published figures are from, and on what machine.
   */
  source: string;
}
/**
 * One contender in both tables. Every list has an entry for each column, absent where there is no figure.
 */
export interface BesideRow {
  /**
   * Name of the contender here; absent where there is none.
   */
  contender: string | null;
  /**
   * The network of our figures, where it is not [`Beside::network`].
   */
  network?: Network | null;
  /**
   * Why it was not run, if so.
   */
  not_run: string | null;
  /**
   * Our figure over that of the baseline, paired by round.
   */
  our_ratio: (Interval | null)[];
  /**
   * Our figures.
   */
  ours: (Interval | null)[];
  /**
   * Published figure over that of the baseline.
   */
  ratio_to_baseline: (number | null)[];
  /**
   * How the source calls it; our name where the source does not have it.
   */
  title: string;
  /**
   * The published figures.
   */
  values: (number | null)[];
  /**
   * Why it is withheld, in a sentence; only in what is written for readers.
   */
  withheld: string | null;
}
/**
 * What was run, where and how.
 */
export interface RunFacts {
  assay: Program;
  /**
   * The command line, ready for a shell.
   */
  command: string;
  /**
   * How long it took.
   */
  elapsed_ns: number;
  /**
   * Event engines of the load generator that ran.
   */
  engines: string[];
  experiment: Experiment;
  host: HostFacts;
  /**
   * Name of the run's folder.
   */
  id: string;
  /**
   * The note that it was not measured here, and from where it comes; absent for a run.
   */
  imported: string | null;
  isolation: Isolation;
  /**
   * How client and server were joined.
   */
  link: string;
  /**
   * The networks that the experiment names, with why those are missing that could not be had; empty where it names none.
   */
  networks: NetworkFacts[];
  /**
   * Seed of the schedule, as text because JavaScript would round it.
   */
  seed: string;
  /**
   * When it began, RFC 3339 in UTC.
   */
  started_at: string;
  /**
   * Where it stands.
   */
  state: "running" | "complete" | "budget_spent" | "interrupted";
  /**
   * The workloads of the plan.
   */
  workloads: Workload[];
}
/**
 * The program that measured.
 */
export interface Program {
  /**
   * `release`, `debug` or `showdown`: the first measures everything well, the last plain HTTP/1.1 on the kernel's stack alone.
   */
  profile: string;
  /**
   * Version of assay.
   */
  version: string;
}
/**
 * The plan.
 */
export interface Experiment {
  /**
   * Whether one contender takes part a second time under another name, an A/A pair: how far the two seem to differ is how
   * far equals seem to differ on this machine.
   */
  aa: boolean;
  /**
   * One sentence for people.
   */
  about: string;
  /**
   * Times, rising, in milliseconds: what share of all requests was answered within each is told of every closed loop.
   */
  answered_within_ms?: number[];
  /**
   * How requests arrive when a rate is offered.
   */
  arrival: "poisson" | "constant";
  /**
   * Longest time for all rounds, in seconds; no round is begun that would exceed it. Absent: no bound.
   */
  budget_s?: number | null;
  /**
   * Servers of the user's own, by the commands that start them; in the record of a run they are contenders.
   */
  command?: OwnCommand[];
  /**
   * Who is compared with whom, and how; absent where all are compared with all, by turns.
   */
  comparing?: Comparing | null;
  /**
   * Selectors of contenders: a name, `lang:go`, `kind:server`, a path; `!` before one excludes.
   */
  contenders: string[];
  /**
   * What one CPU costs for an hour, such as `0.04 EUR`: answers are then priced by the CPU time that they take.
   */
  core_hour?: CoreHour | null;
  /**
   * The levels and lengths of the work that it repeats, for `--full`; absent in the record of a run.
   */
  full?: Full | null;
  /**
   * Processes of our own generator, among which each load and the generator's CPUs are divided.
   */
  generator_processes?: number;
  /**
   * Generators that load every server besides, in windows of their own in the same rounds: `["wrk"]`. Ours always measures, and
   * loads it once more beside them.
   */
  generators?: GeneratorName[];
  /**
   * Length of a window at a given rate, in seconds; as long as the others when absent. A percentile p needs 100 / (1 − p)
   * answers.
   */
  latency_window_s?: number | null;
  /**
   * Fewest rounds. Absent: two.
   */
  least_rounds?: number | null;
  /**
   * Whether everybody is looked at once more for long, for slow modes and pauses, where the rounds leave it open and a part of
   * the budget for it.
   */
  long_look?: boolean;
  /**
   * The loads, each measured in every round.
   */
  measure: Measure[];
  /**
   * Most memory that servers may hold together that live at once, in bytes; where all hold more, a round is split into groups.
   * Absent: what the machine has available, with something to spare.
   */
  memory_bytes?: number | null;
  /**
   * Unique name, `[a-z0-9-]+`.
   */
  name: string;
  /**
   * Whether one server lives at a time and is measured in one piece, instead of all at once in turns.
   */
  one_at_a_time?: boolean;
  /**
   * Half-width of a ratio's interval that is precise enough, as a share (0.02 is 2 %); a pair that has it is settled too.
   */
  precision?: number | null;
  /**
   * Whether lives are profiled after their windows, in slices of load of their own: where the server's time goes. `true` is every
   * life in every cell, `"once"` each server once, in the first round, in one cell at capacity.
   */
  profile?: boolean | "once";
  /**
   * What the work that it repeats has published; absent where it repeats none.
   */
  published?: Published | null;
  /**
   * Most rounds; each starts every contender afresh, in random order. Where servers take turns within a budget, the run chooses
   * how many there are, by how much restarts and turns vary.
   */
  rounds: number;
  /**
   * Load given before each window, at that window's own level, in seconds.
   */
  settle_s: number;
  /**
   * Longest wait for one response, in seconds.
   */
  timeout_s: number;
  /**
   * Whether the mean of all rounds but the best and the worst is told beside the interval, as the work that it repeats does.
   */
  trimmed_mean?: boolean;
  /**
   * Length of one of the short windows that a measured window at capacity is made of where the servers of a round take
   * turns, in seconds.
   */
  turn_s: number;
  /**
   * Whether to stop before that as soon as every pair is settled, and to spend the rounds on the pairs that are not. The
   * intervals are then those of a sequential rule: wider, because they allow for looking after each round.
   */
  until_settled: boolean;
  /**
   * Longest time for which load is given to a fresh server before its first measurement, in seconds; it ends as soon
   * as the server no longer gets faster.
   */
  warmup_s: number;
  /**
   * Length of one measured window at capacity in requests, instead of the time; absent for the time.
   */
  window_requests?: number | null;
  /**
   * Length of one measured window, in seconds.
   */
  window_s: number;
  /**
   * Workloads of its own, beside those of the catalogue; in the record of a run they are among its workloads.
   */
  workload?: Workload[];
}
/**
 * A server of the user's own that assay starts, measures and stops.
 */
export interface OwnCommand {
  /**
   * What it is called, `[a-z0-9-]+`. Absent: made of the command.
   */
  name?: string | null;
  /**
   * The port that it listens on. Absent: a free one, which it finds in `$PORT`.
   */
  port?: number | null;
  /**
   * A path that it answers with 2xx when it is ready. Absent: what is asked under load.
   */
  ready_path?: string | null;
  /**
   * Longest time until it is ready, in seconds. Absent: 20.
   */
  ready_timeout_s?: number | null;
  /**
   * What `sh` runs, in the folder of the experiment's file.
   */
  run: string;
}
/**
 * What `assay compare` measures: others against a base.
 */
export interface Comparing {
  /**
   * Name of the contender that the others are compared with; where there is an A/A control, it is this one that takes
   * part twice.
   */
  base: string;
  /**
   * Why so.
   */
  because:
    | "asked_for"
    | "one_kind"
    | {
        different_programs: {
          /**
           * Program of the base.
           */
          base: string;
          /**
           * Program of the other.
           */
          other: string;
        };
      }
    | "not_closed"
    | "user_stack"
    | "database"
    | "shaped_link"
    | "not_together"
    | "shared_cpus";
  /**
   * The design by which they are compared.
   */
  design: "alternating" | "duet";
}
/**
 * What `--full` changes; what is absent stays.
 */
export interface Full {
  /**
   * Instead of `budget_s`.
   */
  budget_s?: number | null;
  /**
   * Instead of `latency_window_s`.
   */
  latency_window_s?: number | null;
  /**
   * Instead of all `measure`.
   */
  measure?: Measure[];
  /**
   * Instead of `rounds`.
   */
  rounds?: number | null;
  /**
   * Instead of `settle_s`.
   */
  settle_s?: number | null;
  /**
   * Instead of `warmup_s`.
   */
  warmup_s?: number | null;
  /**
   * Instead of `window_requests`.
   */
  window_requests?: number | null;
  /**
   * Instead of `window_s`.
   */
  window_s?: number | null;
}
/**
 * One workload at one or more numbers of connections and at one or more loads.
 */
export interface Measure {
  /**
   * Numbers of connections, each a cell of its own.
   */
  connections: number[];
  /**
   * Names of the only contenders that are measured so; empty for all.
   */
  contenders?: string[];
  /**
   * Networks, each a cell of its own: `kernel/loopback`, `kernel/veth`, `kernel/veth:1gbit`, `user/xdp`, `user/ring`.
   * Empty: the kernel's stack over the run's link.
   */
  networks?: Network[];
  /**
   * Requests in flight on one connection.
   */
  pipeline?: number;
  /**
   * What is spoken, each a cell of its own: `h1` and `h2c`, and over TLS with a certificate of the run's own `h1+tls` and `h2`.
   * Empty: `h1`.
   */
  protocols?: Protocol[];
  /**
   * Loads, each a cell of its own: `max`, `50%`, `common`, `5000/s`, `13000 requests`, `redline:p99<10ms`. One that depends on
   * the capacity brings `max` with it.
   */
  rates?: Offered[];
  /**
   * Streams in flight on one connection of HTTP/2; as many as `pipeline` says where it is absent.
   */
  streams?: number | null;
  /**
   * Name of the workload.
   */
  workload: string;
}
/**
 * Figures of others, as they were published.
 */
export interface Published {
  /**
   * What differs from column to column, as a number: see [`Figures`].
   */
  columns: string[];
  /**
   * The CPUs that served at the source; absent where it does not tell.
   */
  cpus?: SourceCpus | null;
  /**
   * What of ours stands beside them.
   */
  figures: "throughput" | "answered_within_ms";
  /**
   * What the figures are, in words: `requests per second`.
   */
  quantity: string;
  /**
   * A row for each contender.
   */
  row: PublishedRow[];
  /**
   * Where, and on what machine.
   */
  source: string;
  /**
   * Name of the workload in which ours are found; absent for the experiment's first.
   */
  workload?: string | null;
}
/**
 * The CPUs of a source's server.
 */
export interface SourceCpus {
  /**
   * How many.
   */
  count: number;
  /**
   * What the source counts: `hardware threads`, `cores`.
   */
  unit: string;
}
/**
 * The published figures of one contender.
 */
export interface PublishedRow {
  /**
   * Name of the contender here; absent where there is none.
   */
  contender?: string | null;
  /**
   * The network of ours that stands beside it; [`crate::verdict::Beside::network`] when absent.
   */
  network?: Network | null;
  /**
   * How the source calls it.
   */
  title: string;
  /**
   * A figure for each column.
   */
  values: number[];
}
/**
 * A mix of requests with their right answers; `workloads/NAME.toml`.
 */
export interface Workload {
  /**
   * One sentence for people.
   */
  about: string;
  /**
   * A command for `sh`, run whenever a server has become ready, in the file's folder. It finds the server at `URL` and prints
   * lines `NAME=value`, each of which gives `${NAME}` in the requests its value.
   */
  before?: string | null;
  /**
   * What servers need to keep their data in, to answer it; absent when they need nothing.
   */
  database?: DatabaseKind | null;
  /**
   * The file's name and the number, in a workload that is one of several.
   */
  family?: Family | null;
  /**
   * Whether requests are calls of gRPC: `path` is `/package.Service/Method`, and the bodies of request and answer are messages of
   * Protocol Buffers, written as `1: "text" 2: 150` (docs/method/grpc.md#how-is-a-message-written).
   */
  grpc?: boolean;
  /**
   * Unique name, `[a-z0-9-]+`.
   */
  name: string;
  /**
   * A number that the file leaves open; absent in the workloads that it stands for ([`Workload::expand`]).
   */
  parameter?: Parameter | null;
  /**
   * The kinds of request; one is drawn for every request by weight.
   */
  request: RequestKind[];
  /**
   * Whether requests are messages of this kind over WebSockets, which are opened at the path of the first; absent for HTTP.
   */
  websocket?: MessageKind | null;
}
/**
 * From which file a workload came that is one of several.
 */
export interface Family {
  /**
   * Name in the file, by which all of them are selected.
   */
  name: string;
  /**
   * Name of the number in which they differ.
   */
  parameter: string;
  /**
   * That number.
   */
  value: number;
}
/**
 * A number that a workload's file leaves open: `${NAME}` in its requests and answers stands for it.
 */
export interface Parameter {
  /**
   * Its name, `[a-z]+`.
   */
  name: string;
  /**
   * What it is, each a workload of its own.
   */
  values: number[];
}
/**
 * One kind of request. Path, values of header fields and body may have placeholders such as `${random:1..500}`
 * ([`crate::template`]).
 */
export interface RequestKind {
  /**
   * Request body, absent for none.
   */
  body?: string | null;
  expect: Expect;
  /**
   * Extra header fields, in order. Host and Content-Length are added by the generator.
   */
  headers: [unknown, unknown][];
  /**
   * HTTP method.
   */
  method: string;
  /**
   * Request target in origin form (RFC 9112 §3.2.1).
   */
  path: string;
  /**
   * How often this kind is drawn, relative to the others.
   */
  weight: number;
}
/**
 * The right answer; what it leaves open is learnt before the load.
 */
export interface Expect {
  /**
   * Exact body. It may repeat named placeholders of the request.
   */
  body?: string | null;
  /**
   * A file with the exact body, from the workload's own folder; its name may have the workload's number. Whoever reads the workload puts its text into `body`.
   */
  body_file?: string | null;
  /**
   * How the body must be coded; what it must be is said of the body before that, but `length` of what is sent.
   */
  coding?: Coding | null;
  /**
   * Text that the body contains; the body has at most 1 MiB then.
   */
  contains?: string | null;
  /**
   * Media type without parameters, compared without regard to case.
   */
  content_type?: string | null;
  /**
   * An HTML page; the body must be the same page, however it is written ([`crate::html`]).
   */
  html?: string | null;
  /**
   * A file with that page, from the workload's own folder. Whoever reads the workload puts its text into `html`.
   */
  html_file?: string | null;
  /**
   * A JSON text; the body must be equal as a JSON value.
   */
  json?: string | null;
  /**
   * A file with that text, from the workload's own folder. Whoever reads the workload puts its text into `json`.
   */
  json_file?: string | null;
  /**
   * Bytes of the body: at least and at most.
   *
   * @minItems 2
   * @maxItems 2
   */
  length?: [number, number] | null;
  /**
   * What a JSON body must look like, where it varies: `[20 * {"id": 1..10000}]` ([`crate::shape`]).
   */
  shape?: string | null;
  /**
   * Status code; absent accepts every 2xx.
   */
  status?: number | null;
}
/**
 * The machine.
 */
export interface HostFacts {
  /**
   * Clock source of the kernel.
   */
  clock_source: string | null;
  /**
   * Congestion control of the kernel's TCP where a program does not choose one (tcp(7)); also of the namespaces of a link.
   */
  congestion_control: string | null;
  /**
   * Container engine, when the process runs in one.
   */
  container: string | null;
  /**
   * Physical cores among them.
   */
  cores: number;
  /**
   * CPU model name.
   */
  cpu_model: string | null;
  /**
   * CPUs' worth of time that a control group allows (`cpu.max`), when it limits it.
   */
  cpu_quota: number | null;
  /**
   * CPUs this process may run on.
   */
  cpus: number;
  /**
   * Distribution, as `/etc/os-release` names it.
   */
  distribution: string | null;
  /**
   * First and last ephemeral port.
   *
   * @minItems 2
   * @maxItems 2
   */
  ephemeral_ports: [number, number] | null;
  /**
   * Frequency governor of the first CPU.
   */
  governor: string | null;
  /**
   * Hypervisor, when the machine is virtual.
   */
  hypervisor: string | null;
  /**
   * Whether the kernel takes the time of interrupts out of the CPU time of programs (`CONFIG_IRQ_TIME_ACCOUNTING`). CPU time
   * per request of two machines compares only where this is the same: on loopback, interrupts are the receiving half.
   */
  interrupts_apart?: boolean | null;
  /**
   * Kernel release, as `uname -r` prints it.
   */
  kernel: string | null;
  /**
   * One-minute load average when the run began.
   */
  load_average: number | null;
  /**
   * Main memory, in bytes.
   */
  memory_bytes: number | null;
  /**
   * Memory that a control group allows (`memory.max`), in bytes, when it limits it.
   */
  memory_limit_bytes: number | null;
  /**
   * Mitigations that are active, as `/sys/devices/system/cpu/vulnerabilities` names them.
   */
  mitigations: string[];
  /**
   * Soft and hard limit of open files.
   *
   * @minItems 2
   * @maxItems 2
   */
  nofile: [number, number] | null;
  /**
   * NUMA nodes among them.
   */
  numa_nodes: number;
  /**
   * Whether two CPUs share a core.
   */
  smt: boolean | null;
  /**
   * Upper bound of a listening socket's accept queue.
   */
  somaxconn: number | null;
  /**
   * Upper bound of its queue of half-open connections.
   */
  syn_backlog: number | null;
  /**
   * Whether the clock may rise above its nominal rate.
   */
  turbo: boolean | null;
}
/**
 * The CPUs on which each ran.
 */
export interface Isolation {
  /**
   * CPUs of the load generator.
   */
  generator_cpus: string;
  /**
   * CPUs of the contenders, as a kernel list ("0-3,8").
   */
  server_cpus: string;
  /**
   * The separation in a sentence, with whatever spoils it.
   */
  statement: string;
}
/**
 * A network of a run, as it was set up.
 */
export interface NetworkFacts {
  /**
   * The cable laid for it; absent where none is needed.
   */
  link_facts?: LinkFacts | null;
  /**
   * A stack and a wire that go together: `kernel/loopback`, `kernel/veth:1gbit`, `user/xdp`, `user/xdp:1gbit,loss=0.1%`,
   * `user/ring`.
   */
  network: string;
  /**
   * Why it could not be had, if so.
   */
  not_run?: NotRun | null;
}
/**
 * A link between two network namespaces, as it was set up.
 */
export interface LinkFacts {
  /**
   * Address of the generator.
   */
  generator_address: string;
  /**
   * Largest packet that stands for many on their way through the kernel (generic segmentation offload), in bytes; as
   * large as the largest one where it is off.
   */
  gso_max_bytes: number;
  /**
   * Frames that it loses in each direction, drawn at random, of a million; absent for none.
   */
  loss_per_million?: number | null;
  /**
   * Whether all goes through a third namespace in the middle, whose bridge holds the rate and loses what is to be lost.
   */
  middle: boolean;
  /**
   * Largest packet on it, in bytes without the Ethernet header.
   */
  mtu_bytes: number;
  /**
   * Address of the servers.
   */
  server_address: string;
  /**
   * What its rate is held to; absent when to nothing.
   */
  shape?: LinkShape | null;
  /**
   * Settings inside the namespaces, by name, where they differ from the kernel's own.
   */
  sysctls: {
    [k: string]: string;
  };
  /**
   * Whether it was made without root, in a user namespace.
   */
  user_namespace: boolean;
}
/**
 * The token bucket filter of each direction of a link (tc-tbf(8)).
 */
export interface LinkShape {
  /**
   * What it lets pass in each direction, Ethernet headers included.
   */
  bits_per_second: number;
  /**
   * What it lets pass at once after a pause.
   */
  burst_bytes: number;
  /**
   * What waits before it at most; more is lost.
   */
  queue_bytes: number;
}
/**
 * What changed since an earlier run.
 */
export interface Since {
  /**
   * What else differed between the two runs, and so may be what changed the figures.
   */
  caveats: string[];
  /**
   * How to read the rows; absent where nothing can be told.
   */
  legend: string | null;
  /**
   * What tells most of each contender in each cell that both runs measured.
   */
  rows: SinceRow[];
  /**
   * The earlier run's name.
   */
  run: string;
  /**
   * When it began, RFC 3339 in UTC.
   */
  started_at: string;
}
/**
 * One contender in one cell, then and now.
 */
export interface SinceRow {
  /**
   * What it was then.
   */
  before: string;
  /**
   * What may be said; absent where nothing can be told.
   */
  call: Shift | null;
  /**
   * By how much it changed, where that is shown.
   */
  change: string;
  /**
   * Connections held open.
   */
  connections: number;
  /**
   * Name of the contender.
   */
  contender: string;
  /**
   * The figure that is compared, such as `req/s`; empty where nothing can be told, as are the texts that follow.
   */
  figure: string;
  /**
   * The interval of the change, simultaneous over all rows.
   */
  interval: string;
  /**
   * The TCP and the wire; absent where the experiment names none: the kernel's, over the run's link.
   */
  network?: Network | null;
  /**
   * What it is now.
   */
  now: string;
  /**
   * The load offered in a cell, as people write it.
   */
  offered?: string;
  /**
   * Requests in flight on one connection at most; over HTTP/2 each is a stream.
   */
  pipeline?: number;
  /**
   * What is spoken to a server.
   */
  protocol?: "h1" | "h1+tls" | "h2c" | "h2" | "ws" | "wss" | "grpc" | "grpcs";
  /**
   * The change in a sentence, or why nothing can be told.
   */
  sentence: string;
  /**
   * Name of the workload.
   */
  workload: string;
}
/**
 * Where something was measured.
 */
export interface Spot {
  /**
   * Connections held open.
   */
  connections: number;
  /**
   * The TCP and the wire; absent where the experiment names no network.
   */
  network: Network | null;
  /**
   * Requests in flight on one connection at most.
   */
  pipeline: number;
  /**
   * What is spoken to a server.
   */
  protocol: "h1" | "h1+tls" | "h2c" | "h2" | "ws" | "wss" | "grpc" | "grpcs";
  /**
   * Name of the workload.
   */
  workload: string;
}
/**
 * The user-space stack over one wire against the kernel's over another or the same kind.
 */
export interface StackComparison {
  /**
   * Where along a workload's number the one stack overtakes the other.
   */
  crossings: Crossing[];
  /**
   * A stack and a wire that go together: `kernel/loopback`, `kernel/veth:1gbit`, `user/xdp`, `user/xdp:1gbit,loss=0.1%`,
   * `user/ring`.
   */
  kernel: string;
  /**
   * The kernel's network in words.
   */
  kernel_in_words: string;
  /**
   * Every contender in every cell, in the experiment's order.
   */
  rows: StackRow[];
  /**
   * Whether both went over the same kind of wire, so that the stack alone differs.
   */
  same_wire: boolean;
  /**
   * A stack and a wire that go together: `kernel/loopback`, `kernel/veth:1gbit`, `user/xdp`, `user/xdp:1gbit,loss=0.1%`,
   * `user/ring`.
   */
  user: string;
  /**
   * The network in words, both axes named.
   */
  user_in_words: string;
}
/**
 * Between which two values of a workload's number a contender's ratio of stacks passes 1.
 */
export interface Crossing {
  /**
   * Greatest number at which the first stack is shown to be faster.
   */
  after: number;
  /**
   * Least number at which the second one is.
   */
  before: number;
  /**
   * Connections held open.
   */
  connections: number;
  /**
   * Name of the contender.
   */
  contender: string;
  /**
   * Where both would be equal if the logarithm of the ratio ran straight over that of the number between the two; absent
   * where a ratio is missing.
   */
  estimate: number | null;
  /**
   * Name of the workloads that differ in the number.
   */
  family: string;
  /**
   * A stack and a wire that go together: `kernel/loopback`, `kernel/veth:1gbit`, `user/xdp`, `user/xdp:1gbit,loss=0.1%`,
   * `user/ring`.
   */
  kernel: string;
  /**
   * What the number is called: `bytes`.
   */
  parameter: string;
  /**
   * Requests in flight on one connection at most.
   */
  pipeline: number;
  /**
   * A stack and a wire that go together: `kernel/loopback`, `kernel/veth:1gbit`, `user/xdp`, `user/xdp:1gbit,loss=0.1%`,
   * `user/ring`.
   */
  user: string;
  /**
   * The stack that is faster at the smaller numbers is the user-space one.
   */
  user_is_faster_below: boolean;
}
/**
 * One contender in one cell on both networks.
 */
export interface StackRow {
  /**
   * What may be said of it: [`Call::Distinct`] where the interval leaves the margin around 1.
   */
  call: Call | null;
  /**
   * Connections held open.
   */
  connections: number;
  /**
   * Name of the contender.
   */
  contender: string;
  /**
   * What those are called together; the workload's own name otherwise.
   */
  family: string;
  /**
   * A stack and a wire that go together: `kernel/loopback`, `kernel/veth:1gbit`, `user/xdp`, `user/xdp:1gbit,loss=0.1%`,
   * `user/ring`.
   */
  kernel: string;
  /**
   * Its throughput on the kernel's stack.
   */
  kernel_per_second: Interval | null;
  /**
   * The TCP and the wire; absent where the experiment names none: the kernel's, over the run's link.
   */
  network?: Network | null;
  /**
   * The workload's number, where it is one of several that differ in it: the size of a body.
   */
  number: number | null;
  /**
   * The load offered in a cell, as people write it.
   */
  offered?: string;
  /**
   * 50th percentile of the service time on the user-space stack over that on the kernel's, medians over rounds.
   */
  p50_ratio: number | null;
  /**
   * Requests in flight on one connection at most; over HTTP/2 each is a stream.
   */
  pipeline?: number;
  /**
   * What is spoken to a server.
   */
  protocol?: "h1" | "h1+tls" | "h2c" | "h2" | "ws" | "wss" | "grpc" | "grpcs";
  /**
   * Throughput on the user-space stack over that on the kernel's, paired by round, each pair on its own; absent when
   * either is withheld.
   */
  ratio: Interval | null;
  /**
   * Whether both went over the same kind of wire, so that the stack alone differs.
   */
  same_wire: boolean;
  /**
   * Right answers per second on the user-space stack; absent when withheld.
   */
  user_per_second: Interval | null;
  /**
   * Why it is withheld, in a sentence; only in what is written for readers.
   */
  withheld?: string | null;
  /**
   * Name of the workload.
   */
  workload: string;
}
/**
 * One contender in one cell on the user-space stack, over all windows that are not void.
 */
export interface StackCounters {
  /**
   * Connections held open.
   */
  connections: number;
  /**
   * Name of the contender.
   */
  contender: string;
  generator: EndCounters;
  /**
   * The TCP and the wire; absent where the experiment names none: the kernel's, over the run's link.
   */
  network?: Network | null;
  /**
   * The load offered in a cell, as people write it.
   */
  offered?: string;
  /**
   * Requests in flight on one connection at most; over HTTP/2 each is a stream.
   */
  pipeline?: number;
  /**
   * What is spoken to a server.
   */
  protocol?: "h1" | "h1+tls" | "h2c" | "h2" | "ws" | "wss" | "grpc" | "grpcs";
  server: EndCounters1;
  /**
   * Name of the workload.
   */
  workload: string;
}
/**
 * The generator's end.
 */
export interface EndCounters {
  /**
   * System calls on the network of the kernel's stack that this one is compared with.
   */
  kernel_system_calls: number | null;
  /**
   * What its own stack counted; absent where it told nothing, as somebody else's.
   */
  stack: ToldCounts | null;
  /**
   * System calls per right answer. Of the server those on its CPUs, median over rounds; absent where the machine did not
   * tell. Of the generator those of its engines; absent without an answer.
   */
  system_calls: number | null;
}
/**
 * The counters of a stack and the work they belong to, over the windows that it told of.
 */
export interface ToldCounts {
  /**
   * Right answers from the first connection to the last, warm-ups included.
   */
  answers: number;
  counts: StackCounts;
}
/**
 * What was counted meanwhile.
 */
export interface StackCounts {
  /**
   * Frames given up for want of room.
   */
  dropped_frames: number;
  /**
   * Handshakes that were dropped, as too many connections were not yet accepted, or memory was short.
   */
  dropped_requests: number;
  /**
   * Handshakes under way that were forgotten, as many others had begun since; an honest one succeeds all the same (SYN cookies,
   * RFC 4987 §3.6).
   */
  forgotten_handshakes: number;
  /**
   * Losses that acknowledgements told of, counted once for each window (RFC 8985 §6).
   */
  loss_recoveries: number;
  /**
   * Whether the wire loses nothing, so that every retransmission is a fault.
   */
  lossless: boolean;
  /**
   * Connections that were reset for want of memory.
   */
  memory_resets: number;
  /**
   * Times that the memory of all connections became short.
   */
  memory_shortages: number;
  /**
   * Frames that arrived.
   */
  received_frames: number;
  /**
   * Times that a retransmission timer ran out (RFC 6298), but for requests for a connection: a full backlog drops these.
   */
  retransmission_timeouts: number;
  /**
   * Segments sent again, whatever the reason.
   */
  retransmitted_segments: number;
  /**
   * Frames that left.
   */
  sent_frames: number;
  /**
   * System calls that the wire took: to move frames, to sleep, to wake the other end.
   */
  system_calls: number;
  /**
   * Probes for a loss at the end of what was sent (RFC 8985 §7).
   */
  tail_loss_probes: number;
  /**
   * The wire and what was to go wrong on it, as it was named.
   */
  wire: string;
  /**
   * Times that the wire had no room for a frame, which was then sent later.
   */
  wire_full: number;
}
/**
 * The contender's end.
 */
export interface EndCounters1 {
  /**
   * System calls on the network of the kernel's stack that this one is compared with.
   */
  kernel_system_calls: number | null;
  /**
   * What its own stack counted; absent where it told nothing, as somebody else's.
   */
  stack: ToldCounts | null;
  /**
   * System calls per right answer. Of the server those on its CPUs, median over rounds; absent where the machine did not
   * tell. Of the generator those of its engines; absent without an answer.
   */
  system_calls: number | null;
}
/**
 * A rule that was broken, once, with everything it concerns.
 */
export interface Warning {
  /**
   * What was seen at its worst place, in a sentence with its figures.
   */
  evidence: string;
  /**
   * How bad it is, at its worst.
   */
  outcome: "pass" | "warn" | "void";
  /**
   * Contender and cell of each place; empty when it concerns the whole run.
   */
  places: Place[];
  /**
   * What to do about it.
   */
  remedy: string | null;
  /**
   * Stable name of the rule.
   */
  rule: string;
}
/**
 * Where a rule was broken.
 */
export interface Place {
  /**
   * Numbers of connections.
   */
  connections: number[];
  /**
   * Name of the contender.
   */
  contender: string;
  /**
   * The TCP and the wire; absent where the experiment names no network.
   */
  network: Network | null;
  /**
   * What is spoken to a server.
   */
  protocol: "h1" | "h1+tls" | "h2c" | "h2" | "ws" | "wss" | "grpc" | "grpcs";
  /**
   * Name of the workload.
   */
  workload: string;
}
/**
 * What profiles tell of one cell.
 */
export interface Explained {
  /**
   * Every other contender against the first, part by part, and each on the user-space stack against itself on the kernel's.
   */
  compared: Compared[];
  /**
   * Connections held open.
   */
  connections: number;
  /**
   * What the figures of each contender rest on.
   */
  grounds: Grounds[];
  /**
   * The TCP and the wire; absent where the experiment names none: the kernel's, over the run's link.
   */
  network?: Network | null;
  /**
   * The load offered in a cell, as people write it.
   */
  offered?: string;
  /**
   * The parts that anybody has, in the order of all bars: the kernel's first.
   */
  parts: PartName[];
  /**
   * Requests in flight on one connection at most; over HTTP/2 each is a stream.
   */
  pipeline?: number;
  /**
   * What is spoken to a server.
   */
  protocol?: "h1" | "h1+tls" | "h2c" | "h2" | "ws" | "wss" | "grpc" | "grpcs";
  /**
   * By which rules functions belong to parts, and which counters tell energy.
   */
  rules: string;
  /**
   * What is said of it.
   */
  sentences: string[];
  /**
   * Every contender, the one that spends least on an answer first.
   */
  spendings: Spending[];
  /**
   * Name of the workload.
   */
  workload: string;
}
/**
 * Where one contender spends more than another, as texts.
 */
export interface Compared {
  /**
   * Name of the one with which it is compared.
   */
  base: string;
  /**
   * Name of the contender.
   */
  contender: string;
  /**
   * The parts that differ, those that do not, and all together.
   */
  lines: Line[];
}
/**
 * One line of a table of differences.
 */
export interface Line {
  /**
   * The base's time.
   */
  base: string;
  /**
   * What is done more often there.
   */
  because: string;
  /**
   * The other's.
   */
  contender: string;
  /**
   * The other's less the base's.
   */
  difference: string;
  /**
   * Its interval.
   */
  interval: string;
  /**
   * The part, or what stands for several.
   */
  name: string;
}
/**
 * What the figures of a contender rest on.
 */
export interface Grounds {
  /**
   * Name of the contender.
   */
  contender: string;
  /**
   * What it does for an answer, and how its threads wait.
   */
  doing: string;
  /**
   * Samples, and what speaks against them.
   */
  grounds: string;
  /**
   * Whether the samples stand for its CPU time, and taking them changed little.
   */
  is_faithful: boolean;
}
/**
 * A part and its name.
 */
export interface PartName {
  /**
   * Whether the kernel spends it.
   */
  is_kernel: boolean;
  /**
   * What people call it.
   */
  name: string;
  /**
   * The part.
   */
  part:
    | "receive"
    | "send"
    | "network"
    | "scheduling"
    | "sockets"
    | "entry"
    | "copying"
    | "memory"
    | "files"
    | "tls"
    | "libc"
    | "runtime"
    | "collector"
    | "jit"
    | "application"
    | "unassigned";
}
/**
 * Where the time of one server goes.
 */
export interface Spending {
  /**
   * Name of the contender.
   */
  contender: string;
  /**
   * What it did so often for each right answer, the most frequent first.
   */
  counts: CountSpending[];
  cpu_ns: Interval7;
  /**
   * What a right answer takes of the machine's energy in the windows of the cell; absent where that is not counted.
   */
  energy?: EnergyPerAnswer | null;
  /**
   * What holds its answers up, what accounts for most first.
   */
  held_up?: HeldUp[];
  /**
   * Share of the samples of its CPUs in which other programs ran, 0 to 1; zero where these cannot be seen.
   */
  others_share?: number;
  /**
   * Where it goes, the greatest part first; together they are [`Spending::cpu_ns`].
   */
  parts: PartSpending[];
  /**
   * What a million right answers cost by their CPU time, where the price of an hour of a CPU was given.
   */
  price_per_million?: Money | null;
  /**
   * Why some of it could not be told, each once.
   */
  refused?: string[];
  /**
   * Restarts that were profiled.
   */
  restarts: number;
  /**
   * Time for which its threads could have run but waited for a CPU, for each right answer, in nanoseconds; absent where the
   * kernel does not tell.
   */
  run_delay_ns?: number | null;
  /**
   * The time that its samples stand for over that CPU time: what is far from 1 was sampled badly.
   */
  sampled_share: number;
  /**
   * Samples of its stacks in all of them.
   */
  samples: number;
  /**
   * Code in which many of these are, each file once.
   */
  unnamed?: Unnamed[];
  /**
   * Share of the samples whose own function has no name, 0 to 1.
   */
  unnamed_share: number;
  /**
   * CPU time in the kernel for each right answer, where there was no right to see what the kernel does; it is in the part that
   * is not assigned. In nanoseconds, zero where the kernel was seen.
   */
  unseen_ns?: number;
  /**
   * CPU time for each right answer in the windows of the same cell, in which nobody looked; absent where none counts.
   */
  unwatched_cpu_ns?: number | null;
  /**
   * Where its threads slept, the longest first.
   */
  waits?: Waiting[];
  /**
   * How much more CPU time an answer took in the slice than in the windows of the same restart, as a share of the latter: less
   * than zero where it took less. Absent where no restart has both.
   */
  watching?: Interval | null;
}
/**
 * An estimate with its interval.
 */
export interface Interval7 {
  /**
   * Probability that a procedure like this covers the truth, 0 to 1; 0 where one round gave a single figure, which is
   * then also both ends.
   */
  confidence: number;
  /**
   * Best guess.
   */
  estimate: number;
  /**
   * Upper end.
   */
  high: number;
  /**
   * Lower end.
   */
  low: number;
}
/**
 * One part of what a server spends.
 */
export interface PartSpending {
  ns: Interval8;
  /**
   * The part.
   */
  part:
    | "receive"
    | "send"
    | "network"
    | "scheduling"
    | "sockets"
    | "entry"
    | "copying"
    | "memory"
    | "files"
    | "tls"
    | "libc"
    | "runtime"
    | "collector"
    | "jit"
    | "application"
    | "unassigned";
}
/**
 * An estimate with its interval.
 */
export interface Interval8 {
  /**
   * Probability that a procedure like this covers the truth, 0 to 1; 0 where one round gave a single figure, which is
   * then also both ends.
   */
  confidence: number;
  /**
   * Best guess.
   */
  estimate: number;
  /**
   * Upper end.
   */
  high: number;
  /**
   * Lower end.
   */
  low: number;
}
/**
 * Code of which many functions have no name.
 */
export interface Unnamed {
  /**
   * The file that it is in; absent for code that was compiled while the program ran.
   */
  module?: string | null;
  /**
   * Samples in it, in all restarts.
   */
  samples: number;
  /**
   * Those of them in functions without a name.
   */
  unnamed: number;
}
/**
 * A place at which the threads of a server slept.
 */
export interface Waiting {
  /**
   * The kernel's function in which they slept.
   */
  channel: string;
  /**
   * Share of the time of all its threads that was spent there, 0 to 1: mean over restarts.
   */
  share: number;
}
