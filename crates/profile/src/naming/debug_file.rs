//! Symbols that were taken out of a program or library and lie in a file of their own, as packages of debug symbols bring them (GDB's manual,
//! "Debugging Information in Separate Files"). Both files have the same build ID, by which the one is found from the other.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};

use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{Input, Symbolizer};
use object::elf::{ELF_NOTE_GNU, FileHeader64, NT_GNU_BUILD_ID, PT_LOAD};
use object::read::ReadCache;
use object::read::elf::{FileHeader as _, ProgramHeader as _};
use object::{Endianness, ReadRef};
use procfs::process::{MMapPath, MemoryMaps};

use super::{map_of, open_unblocked, symbol_of};

/// Where such files are, in folders by the first byte of their build ID.
const FOLDER: &str = "/usr/lib/debug/.build-id";
/// Longest program or library that is looked into, in bytes.
const MAX_FILE: u64 = 1 << 30;
/// Most bytes of notes that are read; linkers write some tens.
const MAX_NOTES: u64 = 1 << 16;
/// Fewest and most bytes of a build ID: a file's name needs two, and no hash has more.
const ID: std::ops::RangeInclusive<usize> = 2..=64;

/// Names of the functions at some addresses of a process, as far as the symbols of their files lie apart; none where nothing does.
pub(super) fn names(
    symbolizer: &Symbolizer,
    pid: u32,
    maps: &MemoryMaps,
    addresses: &BTreeSet<u64>,
) -> HashMap<u64, String> {
    names_in(Path::new(FOLDER), symbolizer, pid, maps, addresses)
}

fn names_in(
    folder: &Path,
    symbolizer: &Symbolizer,
    pid: u32,
    maps: &MemoryMaps,
    addresses: &BTreeSet<u64>,
) -> HashMap<u64, String> {
    // Places in files, each with the address that is there.
    let mut files = BTreeMap::<PathBuf, Vec<(u64, u64)>>::new();
    for address in addresses {
        if let Some(map) = map_of(maps, *address)
            && let MMapPath::Path(path) = &map.pathname
        {
            let place = (*address - map.address.0).saturating_add(map.offset);
            files
                .entry(format!("/proc/{pid}/root{}", path.display()).into())
                .or_default()
                .push((place, *address));
        }
    }
    files.iter().filter_map(|(file, places)| of_file(folder, symbolizer, file, places)).flatten().collect()
}

/// Names of what is at some places of one file.
fn of_file(
    folder: &Path,
    symbolizer: &Symbolizer,
    file: &Path,
    places: &[(u64, u64)],
) -> Option<Vec<(u64, String)>> {
    let image = Image::read(&ReadCache::new(opened(file)?))?;
    let apart = folder.join(image.debug_file()?);
    if !apart.is_file() {
        return None;
    }
    let loaded = |(place, address): &(u64, u64)| Some((image.loaded(*place)?, *address));
    let (places, addresses): (Vec<u64>, Vec<u64>) = places.iter().filter_map(loaded).unzip();
    let mut symbols = Elf::new(apart);
    symbols.debug_syms = false;
    let found = symbolizer.symbolize(&Source::Elf(symbols), Input::VirtOffset(&places)).ok()?;
    let named = addresses.into_iter().zip(found);
    Some(named.filter_map(|(address, found)| Some((address, symbol_of(found)?))).collect())
}

/// Opens a program or library; `None` of what lies under its name by now and is none.
fn opened(file: &Path) -> Option<File> {
    let is_read = |facts: Metadata| facts.is_file() && facts.len() <= MAX_FILE;
    open_unblocked(file, 0).ok().filter(|file| file.metadata().is_ok_and(is_read))
}

/// What a program or library says of itself.
struct Image {
    id: Vec<u8>,
    /// What is loaded of it: from where in the file, how many bytes, and to where in memory, before it is moved.
    parts: Vec<[u64; 3]>,
}

impl Image {
    /// Reads the head of a file; `None` of one that is no program, or has no build ID.
    fn read<'f>(file: impl ReadRef<'f>) -> Option<Self> {
        let header = FileHeader64::<Endianness>::parse(file).ok()?;
        let endian = header.endian().ok()?;
        let (mut id, mut parts) = (None, Vec::new());
        for segment in header.program_headers(endian, file).ok()? {
            if segment.p_type(endian) == PT_LOAD {
                parts.push([segment.p_offset(endian), segment.p_filesz(endian), segment.p_vaddr(endian)]);
            }
            if segment.p_filesz(endian) > MAX_NOTES {
                continue;
            }
            let mut notes = segment.notes(endian, file).ok().flatten();
            while let Some(note) = notes.as_mut().and_then(|notes| notes.next().ok().flatten()) {
                if note.name() == ELF_NOTE_GNU && note.n_type(endian) == NT_GNU_BUILD_ID {
                    id = Some(note.desc().to_vec());
                }
            }
        }
        Some(Self { id: id.filter(|id| ID.contains(&id.len()))?, parts })
    }

    /// Name of the file that has its symbols, with that of its folder.
    fn debug_file(&self) -> Option<PathBuf> {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let (first, others) = self.id.split_first()?;
        Some(Path::new(&hex(&[*first])).join(format!("{}.debug", hex(others))))
    }

    /// Where a place in the file is loaded to.
    fn loaded(&self, place: u64) -> Option<u64> {
        self.parts.iter().find_map(|[from, length, to]| {
            let within = place.checked_sub(*from).filter(|within| within < length)?;
            to.checked_add(within)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};

    use assay_skip::skip;
    use procfs::process::Process;

    use super::*;
    use crate::naming::symbolizer;

    /// Says where a function of its own is, and waits.
    const TELLS: &str = r#"
        #include <stdio.h>
        static void own(void) { getchar(); }
        int main(void) { printf("%p\n", (void *)own); fflush(stdout); own(); }
    "#;

    /// Runs a tool in a folder; false where there is none.
    fn ran(folder: &Path, tool: &str, arguments: &[&str]) -> bool {
        Command::new(tool).args(arguments).current_dir(folder).status().is_ok_and(|status| status.success())
    }

    #[test]
    fn a_function_of_a_stripped_program_is_named_by_the_file_that_has_its_symbols() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path();
        std::fs::write(path.join("tells.c"), TELLS).expect("written");
        let is_built = ran(path, "cc", &["-O0", "-Wl,--build-id=0xabcdef01", "-o", "tells", "tells.c"])
            && ran(path, "objcopy", &["--only-keep-debug", "tells", "symbols"])
            && ran(path, "strip", &["tells"]);
        if !is_built {
            return skip("tools", "needs a C compiler with its tools, apt install gcc");
        }
        let mut program = Command::new(path.join("tells"));
        let mut program = program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut line = String::new();
        BufReader::new(program.stdout.take().expect("piped")).read_line(&mut line).expect("told");
        let address = u64::from_str_radix(line.trim().trim_start_matches("0x"), 16).expect("an address");
        let maps = Process::new(program.id().cast_signed()).and_then(|process| process.maps()).expect("maps");
        let named = || names_in(path, &symbolizer(), program.id(), &maps, &[address, 1].into());
        assert_eq!(named(), HashMap::new(), "there is no file yet");
        std::fs::create_dir(path.join("ab")).expect("a folder");
        std::fs::rename(path.join("symbols"), path.join("ab/cdef01.debug")).expect("renamed");
        assert_eq!(named(), [(address, "own".to_owned())].into());
        std::fs::write(path.join("ab/cdef01.debug"), "no symbols").expect("written");
        assert_eq!(named(), HashMap::new(), "what is no such file names nothing");
        // Its input ends, and so does it.
        drop(program.stdin.take());
        program.wait().expect("ended");
    }

    #[test]
    fn a_pipe_under_the_name_of_a_program_is_not_waited_for() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(ran(folder.path(), "mkfifo", &["program"]));
        assert!(opened(&folder.path().join("program")).is_none());
        assert!(opened(Path::new("/proc/self/exe")).is_some());
    }

    #[test]
    fn a_file_that_is_cut_anywhere_is_survived() {
        let own = std::fs::read("/proc/self/exe").expect("this program");
        for end in (0..4096).chain((4096..own.len()).step_by(own.len() / 64)) {
            let _ = Image::read(&own[..end]);
        }
        assert!(Image::read(&b"\x7fELF"[..]).is_none());
    }
}
