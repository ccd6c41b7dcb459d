//! Programs that a preload library cannot serve, told from their files (elf(5)).

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The beginning of every ELF file, then the class of 64-bit ones and the little-endian order (elf(5), e_ident).
const MAGIC: [u8; 6] = [0x7f, b'E', b'L', b'F', 2, 1];
/// Bytes of a script in which the kernel looks for its interpreter (BINPRM_BUF_SIZE).
const SCRIPT_BYTES: usize = 256;
/// Bytes of the file's header (Elf64_Ehdr) and of a program header (Elf64_Phdr).
const FILE_HEADER_BYTES: usize = 64;
const SEGMENT_HEADER_BYTES: usize = 56;
/// Kinds of segment: the path of the dynamic loader, and notes.
const PT_INTERP: u32 = 3;
const PT_NOTE: u32 = 4;
/// Owner of the note with which Go's linker marks what it has built (cmd/link: `.note.go.buildid`).
const GO: &[u8] = b"Go\0\0";
/// Most bytes of notes that are looked at; a build id takes about a hundred.
const MOST_NOTE_BYTES: u64 = 64 << 10;
/// Most segments; real programs have a dozen.
const MOST_SEGMENTS: u16 = 256;

/// Bytes of a header up to the kind of file (e_type), and a shared object's kind (ET_DYN).
const KIND_END: usize = 18;
const ET_DYN: [u8; 2] = [3, 0];

/// Why a preload library cannot serve a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The program has no dynamic loader, so nothing can be preloaded into it.
    Static,
    /// Go's runtime calls the kernel itself instead of the C library.
    Go,
}

impl std::fmt::Display for Obstacle {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::Static => "it is linked statically",
            Self::Go => "it is written in Go",
        })?;
        out.write_str(": it makes raw system calls that a preload library cannot see")
    }
}

/// What keeps the program in the file at `path` from being served; for a script its interpreter counts. `None` where
/// nothing is known against it, and for what is no 64-bit ELF file.
///
/// # Errors
/// When the file cannot be read.
pub fn obstacle(path: &Path) -> io::Result<Option<Obstacle>> {
    let file = File::open(path)?;
    let mut head = [0; SCRIPT_BYTES];
    let read = file.read_at(&mut head, 0)?;
    if let Some(interpreter) = interpreter(&head[..read]) {
        // A script whose interpreter is a script is legal but unheard of; the second one is not followed.
        return File::open(interpreter).and_then(|file| of_file(&file));
    }
    of_file(&file)
}

/// The file of a preload library that a person names. What is none the loader leaves out, and the program would run on the kernel's
/// stack.
///
/// # Errors
/// In words: it cannot be read, or is no shared object.
pub fn named_library(path: &Path) -> Result<PathBuf, String> {
    // The loader takes a name without a slash for one to be searched for (ld.so(8)).
    let path = path.canonicalize().map_err(|error| error.to_string())?;
    match is_shared_object(&path) {
        Ok(true) => Ok(path),
        Ok(false) => {
            Err("it is no shared library; name one (a 64-bit ELF file, .so), or leave it out".to_owned())
        }
        Err(error) => Err(error.to_string()),
    }
}

fn is_shared_object(path: &Path) -> io::Result<bool> {
    // Nobody comes to the end of a pipe.
    if !path.metadata()?.is_file() {
        return Ok(false);
    }
    let mut head = [0; KIND_END];
    let read = File::open(path)?.read_at(&mut head, 0)?;
    Ok(read == head.len() && head.starts_with(&MAGIC) && head.ends_with(&ET_DYN))
}

/// The interpreter that the first line of a script names (execve(2)).
fn interpreter(head: &[u8]) -> Option<PathBuf> {
    let line = head.strip_prefix(b"#!")?.split(|&byte| byte == b'\n').next()?;
    let name = str::from_utf8(line).ok()?.split_whitespace().next()?;
    Some(PathBuf::from(name))
}

/// The file of a program that is started in `folder`: itself where its name has a slash, else the first that may be executed in
/// the folders of `path` (execvp(3)).
pub fn find_program(name: &OsStr, folder: &Path, path: Option<&OsStr>) -> Option<PathBuf> {
    let own = Path::new(name);
    if own.components().count() > 1 || own.is_absolute() {
        return Some(folder.join(own)).filter(|file| file.exists());
    }
    let runs = |file: &PathBuf| {
        file.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(path?).map(|folder| folder.join(own)).find(runs)
}

fn of_file(file: &File) -> io::Result<Option<Obstacle>> {
    let mut header = [0; FILE_HEADER_BYTES];
    if file.read_at(&mut header, 0)? < FILE_HEADER_BYTES || !header.starts_with(&MAGIC) {
        return Ok(None);
    }
    let (mut at, count) = (u64_at(&header, 32), u16_at(&header, 56).min(MOST_SEGMENTS));
    let mut is_static = true;
    for _ in 0..count {
        let mut segment = [0; SEGMENT_HEADER_BYTES];
        file.read_exact_at(&mut segment, at)?;
        match u32_at(&segment, 0) {
            PT_INTERP => is_static = false,
            PT_NOTE if is_gos(&notes(file, u64_at(&segment, 8), u64_at(&segment, 32))?) => {
                return Ok(Some(Obstacle::Go));
            }
            _ => {}
        }
        at = at.saturating_add(SEGMENT_HEADER_BYTES as u64);
    }
    Ok(is_static.then_some(Obstacle::Static))
}

fn notes(file: &File, offset: u64, bytes: u64) -> io::Result<Vec<u8>> {
    let mut notes = vec![0; bytes.min(MOST_NOTE_BYTES) as usize];
    file.read_exact_at(&mut notes, offset)?;
    Ok(notes)
}

/// Whether one of the notes is Go's: each is the lengths of owner and description and a kind, then both, filled up to four
/// bytes.
fn is_gos(mut notes: &[u8]) -> bool {
    while notes.len() >= 12 {
        let (owner, description) = (u32_at(notes, 0) as usize, u32_at(notes, 4) as usize);
        if notes[12..].starts_with(GO) && owner == GO.len() {
            return true;
        }
        let length = 12 + owner.next_multiple_of(4).saturating_add(description.next_multiple_of(4));
        notes = notes.get(length..).unwrap_or_default();
    }
    false
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ELF file with these segments, each a kind and its content.
    fn elf(segments: &[(u32, &[u8])]) -> Vec<u8> {
        let mut file = vec![0; FILE_HEADER_BYTES];
        file[..MAGIC.len()].copy_from_slice(&MAGIC);
        file[32..40].copy_from_slice(&(FILE_HEADER_BYTES as u64).to_le_bytes());
        file[56..58].copy_from_slice(&u16::try_from(segments.len()).expect("few").to_le_bytes());
        let mut offset = FILE_HEADER_BYTES + segments.len() * SEGMENT_HEADER_BYTES;
        for (kind, content) in segments {
            let mut header = [0; SEGMENT_HEADER_BYTES];
            header[..4].copy_from_slice(&kind.to_le_bytes());
            header[8..16].copy_from_slice(&(offset as u64).to_le_bytes());
            header[32..40].copy_from_slice(&(content.len() as u64).to_le_bytes());
            file.extend(header);
            offset += content.len();
        }
        segments.iter().for_each(|(_, content)| file.extend(*content));
        file
    }

    fn note(owner: &[u8], description: &[u8]) -> Vec<u8> {
        let mut note = Vec::new();
        for number in [owner.len() as u32, description.len() as u32, 4] {
            note.extend(number.to_le_bytes());
        }
        for part in [owner, description] {
            note.extend(part);
            note.resize(note.len().next_multiple_of(4), 0);
        }
        note
    }

    fn obstacle_of(content: &[u8]) -> io::Result<Option<Obstacle>> {
        let file = tempfile::NamedTempFile::new().expect("file");
        std::fs::write(file.path(), content).expect("written");
        obstacle(file.path())
    }

    #[test]
    fn a_program_without_a_loader_is_static_and_gos_are_known_by_their_note() {
        let (gnu, go) = (note(b"GNU\0", b"123"), note(GO, b"abc/def"));
        let both = [gnu.clone(), go.clone()].concat();
        let of = |segments: &[(u32, &[u8])]| obstacle_of(&elf(segments)).expect("read");
        assert_eq!(of(&[(PT_INTERP, b"/lib/ld.so\0"), (PT_NOTE, &gnu)]), None);
        assert_eq!(of(&[(1, b"code"), (PT_NOTE, &gnu)]), Some(Obstacle::Static));
        assert_eq!(of(&[(PT_NOTE, &go)]), Some(Obstacle::Go));
        // Built with cgo it has a loader, and makes its calls itself all the same.
        assert_eq!(of(&[(PT_INTERP, b"/lib/ld.so\0"), (PT_NOTE, &both)]), Some(Obstacle::Go));
    }

    #[test]
    fn what_is_no_program_of_this_kind_is_not_judged_and_a_broken_one_is_an_error() {
        assert_eq!(obstacle_of(b"").expect("read"), None);
        assert_eq!(obstacle_of(b"MZ is for others").expect("read"), None);
        let whole = elf(&[(PT_NOTE, &note(GO, b"x"))]);
        assert!(obstacle_of(&whole[..FILE_HEADER_BYTES + 8]).is_err());
        assert!(!is_gos(&[0xff; 40]));
    }

    #[test]
    fn this_very_test_can_be_preloaded_into_and_so_can_a_script() {
        let here = std::env::current_exe().expect("path");
        assert_eq!(obstacle(&here).expect("read"), None);
        let script = format!("#! {} -x\nwhatever", here.display());
        assert_eq!(obstacle_of(script.as_bytes()).expect("read"), None);
    }

    #[test]
    fn programs_are_found_as_a_shell_finds_them() {
        let folder = tempfile::tempdir().expect("folder");
        let file = folder.path().join("tool");
        std::fs::write(&file, "").expect("file");
        let path = Some(folder.path().as_os_str());
        let find = |name: &str, path| find_program(OsStr::new(name), folder.path(), path);
        assert_eq!(find("tool", path), None, "it may not be executed");
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).expect("mode");
        assert_eq!(find("tool", path).as_deref(), Some(file.as_path()));
        assert_eq!(find("tool", None), None);
        assert!(find("./tool", None).is_some_and(|found| found.exists()));
        assert_eq!(find("./no/such", path), None);
    }
}
