//! From addresses to functions: by the kernel's table of symbols; the symbols of programs and libraries, also where these lie apart; the
//! table of functions that a Go program has without symbols too; and what runtimes tell of what they compile, in files or in memory.

mod debug_file;
mod go_table;
mod perf_map;
mod v8_log;
mod written;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use assay_host::process::find;
use assay_model::profile::{CallStack, Facet, Frame, FrameKind, Owner, Refused, Sampled};
use blazesym::Pid;
use blazesym::symbolize::source::{Kernel, Process, Source};
use blazesym::symbolize::{Input, Symbolized, Symbolizer};
use procfs::process::{MMPermissions, MMapPath, MemoryMap, MemoryMaps};

use crate::gathered::{Gathered, RawStack};
use written::Writer;

/// Longest name that is kept, in bytes: generic functions have names of thousands.
const MAX_NAME: usize = 240;
/// The process above all threads of the kernel (kthreadd).
const KERNEL_PROCESS: u32 = 2;

/// Functions by process and address; the kernel is process 0.
type Functions = HashMap<(u32, u64), Frame>;

/// Names of what the runtime inside a process has compiled, by what it keeps of that itself.
pub(crate) type Compiled = fn(u32, &BTreeSet<u64>) -> HashMap<u64, String>;

/// Fills in stacks, frames and threads of what was gathered from `processes` and the kernel; returns what could not be named, and why.
pub(crate) fn name(
    sampled: &mut Sampled,
    gathered: Gathered,
    threads: &BTreeMap<u32, String>,
    processes: &BTreeSet<u32>,
    compiled: Compiled,
) -> Vec<Refused> {
    let symbolizer = symbolizer();
    let mut functions = Functions::new();
    let mut refused = Vec::new();
    refused.extend(kernel(&symbolizer, &gathered.kernel_addresses(), &mut functions).err());
    for pid in processes {
        let addresses = gathered.user_addresses(*pid);
        refused.extend(process(&symbolizer, *pid, &addresses, compiled, &mut functions).err());
    }
    let pids: BTreeSet<u32> = gathered.stacks.keys().map(|stack| stack.pid).collect();
    let owners: HashMap<u32, Owner> =
        pids.into_iter().filter_map(|pid| Some((pid, owner(pid, processes)?))).collect();
    let owner_of = |stack: &RawStack| owners.get(&stack.pid).copied();
    fold(sampled, gathered, threads, &functions, owner_of);
    refused
}

/// The owner of a process; `None` unless it is the server's or a thread of the kernel.
fn owner(pid: u32, processes: &BTreeSet<u32>) -> Option<Owner> {
    match pid {
        0 => None,
        pid if processes.contains(&pid) => Some(Owner::Server),
        pid => find(pid).filter(|of| [of.pid, of.parent].contains(&KERNEL_PROCESS)).map(|_| Owner::Kernel),
    }
}

/// Reads the symbols of programs, each file once.
pub(crate) struct Names(Symbolizer);

impl Names {
    pub(crate) fn new() -> Self {
        Self(symbolizer())
    }

    /// The functions at some addresses of a process, in their order; without names where it has ended.
    pub(crate) fn frames(&self, pid: u32, addresses: &[u64]) -> Vec<Frame> {
        let mut functions = Functions::new();
        // Locks are recognised by functions of files, so these suffice.
        let none: Compiled = |_, _| HashMap::new();
        // Why there are no names stands beside the samples, which have none either.
        let _ = process(&self.0, pid, &addresses.iter().copied().collect(), none, &mut functions);
        addresses.iter().filter_map(|address| functions.get(&(pid, *address)).cloned()).collect()
    }
}

fn symbolizer() -> Symbolizer {
    Symbolizer::builder().enable_code_info(false).enable_inlined_fns(false).build()
}

fn kernel(
    symbolizer: &Symbolizer,
    addresses: &BTreeSet<u64>,
    functions: &mut Functions,
) -> Result<(), Refused> {
    let refused = |why: String| Refused { what: Facet::KernelSymbols, why };
    let addresses: Vec<u64> = addresses.iter().copied().collect();
    if addresses.is_empty() {
        return Ok(());
    }
    let frame = |symbol: Option<String>| Frame { symbol, module: None, kind: FrameKind::Kernel };
    functions.extend(addresses.iter().map(|address| ((0, *address), frame(None))));
    if !is_table_shown() {
        let why = "the kernel hides the addresses of its functions: run as root, and set kernel.kptr_restrict to 0 or 1";
        return Err(refused(why.to_owned()));
    }
    // The table alone: an image of the kernel on disk may be another's.
    let source = Source::Kernel(Kernel {
        vmlinux: blazesym::MaybeDefault::None,
        debug_syms: false,
        ..Kernel::default()
    });
    let found = symbolizer.symbolize(&source, Input::AbsAddr(&addresses));
    let found = found.map_err(|error| refused(format!("/proc/kallsyms cannot be used: {error}")))?;
    let named =
        addresses.iter().zip(found).filter_map(|(address, found)| Some((*address, symbol_of(found)?)));
    functions.extend(named.map(|(address, symbol)| ((0, address), frame(Some(symbol)))));
    Ok(())
}

/// Whether addresses are told, and not zeros in their place (kernel: admin-guide/sysctl/kernel.rst, `kptr_restrict`).
fn is_table_shown() -> bool {
    use std::io::{BufRead, BufReader};
    let Ok(file) = std::fs::File::open("/proc/kallsyms") else { return false };
    let lines = BufReader::new(file).lines().map_while(Result::ok).take(64);
    lines
        .filter_map(|line| line.split(' ').next().map(str::to_owned))
        .any(|address| address.bytes().any(|byte| byte != b'0'))
}

fn process(
    symbolizer: &Symbolizer,
    pid: u32,
    addresses: &BTreeSet<u64>,
    compiled: Compiled,
    functions: &mut Functions,
) -> Result<(), Refused> {
    if addresses.is_empty() {
        return Ok(());
    }
    let refused = |why: String| Refused { what: Facet::Symbols, why };
    let unknown = Frame { symbol: None, module: None, kind: FrameKind::Unknown };
    functions.extend(addresses.iter().map(|address| ((pid, *address), unknown.clone())));
    let maps = i32::try_from(pid).ok().and_then(|pid| procfs::process::Process::new(pid).ok()?.maps().ok());
    let maps =
        maps.ok_or_else(|| refused("a process ended before its functions could be named".to_owned()))?;
    let frames: BTreeMap<u64, Frame> =
        addresses.iter().map(|address| (*address, frame(&maps, *address))).collect();
    let (mut names, whys) = names(symbolizer, pid, &maps, &frames, compiled);
    for (address, frame) in frames {
        functions.insert((pid, address), Frame { symbol: names.remove(&address), ..frame });
    }
    if whys.is_empty() { Ok(()) } else { Err(refused(whys.join("; "))) }
}

/// The names of functions, each by the first that knows it, and why some have none.
fn names(
    symbolizer: &Symbolizer,
    pid: u32,
    maps: &MemoryMaps,
    frames: &BTreeMap<u64, Frame>,
    compiled: Compiled,
) -> (HashMap<u64, String>, Vec<String>) {
    let (mut names, mut whys) = (HashMap::new(), Vec::new());
    let nameless = |kind, names: &HashMap<u64, String>| -> BTreeSet<u64> {
        let of_kind = frames.iter().filter(|(_, frame)| frame.kind == kind);
        of_kind.map(|(address, _)| *address).filter(|address| !names.contains_key(address)).collect()
    };
    let native: Vec<u64> = nameless(FrameKind::Native, &names).into_iter().collect();
    match symbols_of(symbolizer, pid, &native) {
        Ok(found) => names.extend(found),
        Err(why) => whys.push(format!("the functions of a process cannot be named: {why}")),
    }
    names.extend(debug_file::names(symbolizer, pid, maps, &nameless(FrameKind::Native, &names)));
    names.extend(go_table::names(pid, &nameless(FrameKind::Native, &names)));
    for written in [v8_log::names, perf_map::names] {
        let unnamed = nameless(FrameKind::Jit, &names);
        let Some(writer) = (!unnamed.is_empty()).then(|| Writer::of(pid)).flatten() else { break };
        match written(&writer, &unnamed) {
            Ok(found) => names.extend(found),
            Err(why) => whys.push(why),
        }
    }
    names.extend(compiled(pid, &nameless(FrameKind::Jit, &names)));
    (names, whys)
}

/// Names by the files that are mapped, wherever they are now, or by their paths where only root may do that. Perf maps, which are in no
/// file of the program's, are read apart ([`perf_map`]).
fn symbols_of(symbolizer: &Symbolizer, pid: u32, addresses: &[u64]) -> Result<HashMap<u64, String>, String> {
    let by = |map_files: bool| {
        let mut process = Process::new(Pid::from(pid));
        (process.map_files, process.debug_syms, process.perf_map) = (map_files, false, false);
        symbolizer.symbolize(&Source::Process(process), Input::AbsAddr(addresses))
    };
    let found = by(true).or_else(|_| by(false)).map_err(|error| error.to_string())?;
    let named = addresses.iter().zip(found);
    Ok(named.filter_map(|(address, found)| Some((*address, symbol_of(found)?))).collect())
}

fn symbol_of(found: Symbolized<'_>) -> Option<String> {
    match found {
        Symbolized::Sym(symbol) => Some(shortened(&symbol.name)),
        Symbolized::Unknown(_) => None,
    }
}

fn shortened(name: &str) -> String {
    match name.char_indices().map(|(at, _)| at).take_while(|at| *at <= MAX_NAME).last() {
        Some(end) if name.len() > MAX_NAME => format!("{}…", &name[..end]),
        _ => name.to_owned(),
    }
}

/// What is at an address, without its name: code of a file, or of a runtime's own making.
fn frame(maps: &MemoryMaps, address: u64) -> Frame {
    let map = map_of(maps, address);
    let module = map.and_then(|map| match &map.pathname {
        // Memory that has a name and no file: runtimes put what they compile there (memfd_create(2)).
        MMapPath::Path(path) if path.to_string_lossy().starts_with("/memfd:") => None,
        MMapPath::Path(path) => {
            let name = path.file_name()?.to_string_lossy();
            Some(name.strip_suffix(" (deleted)").unwrap_or(&name).to_owned())
        }
        MMapPath::Vdso => Some("[vdso]".to_owned()),
        _ => None,
    });
    let is_code = map.is_some_and(|map| map.perms.contains(MMPermissions::EXECUTE));
    let kind = match &module {
        Some(_) => FrameKind::Native,
        // Without frame pointers a chain of calls goes astray, into memory that is no code.
        None if is_code => FrameKind::Jit,
        None => FrameKind::Unknown,
    };
    Frame { symbol: None, module, kind }
}

/// Opens a file under a name that may be somebody else's by now, without waiting for whoever might write into a pipe; `more` are further
/// flags (open(2)).
fn open_unblocked(path: &Path, more: i32) -> std::io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY | more).open(path)
}

/// What is mapped at an address.
fn map_of(maps: &MemoryMaps, address: u64) -> Option<&MemoryMap> {
    maps.iter().find(|map| (map.address.0..map.address.1).contains(&address))
}

/// Counts stacks by functions instead of addresses. Of an idle CPU only what interrupted it is work.
fn fold(
    sampled: &mut Sampled,
    gathered: Gathered,
    threads: &BTreeMap<u32, String>,
    functions: &Functions,
    owner_of: impl Fn(&RawStack) -> Option<Owner>,
) {
    let (mut frames, mut names) = (Interned::default(), Interned::default());
    let mut counted: BTreeMap<(Owner, u32, Vec<u32>), u64> = BTreeMap::new();
    sampled.lost += gathered.lost;
    for (stack, samples) in gathered.stacks {
        let functions_of = |pid: u32, addresses: &[u64]| -> Vec<Frame> {
            let unknown = Frame { symbol: None, module: None, kind: FrameKind::Unknown };
            addresses
                .iter()
                .map(|address| functions.get(&(pid, *address)).unwrap_or(&unknown).clone())
                .collect()
        };
        let kernel = functions_of(0, &stack.kernel);
        let owner = match stack.pid {
            0 if kernel.iter().any(is_interrupt) => Some(Owner::Kernel),
            0 => {
                sampled.idle += samples;
                continue;
            }
            _ => owner_of(&stack),
        };
        let Some(owner) = owner else {
            sampled.others += samples;
            continue;
        };
        let all = kernel.into_iter().chain(functions_of(stack.pid, &stack.user));
        let all: Vec<u32> = all.map(|frame| frames.number(frame)).collect();
        let thread = threads.get(&stack.tid).cloned().unwrap_or_else(|| stack.tid.to_string());
        *counted.entry((owner, names.number(thread), all)).or_default() += samples;
    }
    let stack = |((owner, thread, frames), samples)| CallStack { owner, thread, frames, samples };
    sampled.stacks = counted.into_iter().map(stack).collect();
    sampled.stacks.sort_by_key(|stack| std::cmp::Reverse(stack.samples));
    (sampled.frames, sampled.threads) = (frames.all, names.all);
}

/// Whether a function of the kernel stands for interrupts, hard or soft.
fn is_interrupt(frame: &Frame) -> bool {
    frame.symbol.as_deref().is_some_and(|symbol| {
        symbol.contains("softirq")
            || symbol.starts_with("common_interrupt")
            || symbol.starts_with("handle_irq")
    })
}

/// Each value once, by number.
struct Interned<T> {
    all: Vec<T>,
    numbers: HashMap<T, u32>,
}

impl<T> Default for Interned<T> {
    fn default() -> Self {
        Self { all: Vec::new(), numbers: HashMap::new() }
    }
}

impl<T: Clone + Eq + std::hash::Hash> Interned<T> {
    fn number(&mut self, value: T) -> u32 {
        if let Some(number) = self.numbers.get(&value) {
            return *number;
        }
        // As many as there are addresses in the stacks that are kept.
        let number = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        self.all.push(value.clone());
        self.numbers.insert(value, number);
        number
    }
}

#[cfg(test)]
mod tests;
