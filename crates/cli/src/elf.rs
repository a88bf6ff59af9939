//! What a program file tells before it is run: whether the shim can be loaded into it, and which build it is.

use object::elf::FileHeader64;
use object::read::elf::{ElfFile64, FileHeader as _, ProgramHeader as _};
use object::{Endianness, Object, ObjectSection, ObjectSymbol};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The machine number of x86-64 in the ELF header.
const X86_64: u16 = 62;

/// Why a program cannot be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    Static,
    Go,
    Musl,
    OtherLinker(String),
    OtherMachine(String),
    Setuid,
    Capabilities,
}

impl Problem {
    /// What it is, why that matters, and what to do.
    pub fn words(&self, program: &Path) -> (String, &'static str) {
        let name = program.display();
        match self {
            Problem::Static => (
                format!("{name} is statically linked, so the shim cannot be loaded into it"),
                "link it dynamically (without -static)",
            ),
            Problem::Go => (
                format!(
                    "{name} is a Go program: its goroutines and locks do not pass through libc, so there is nothing to record"
                ),
                "go test -race finds races in Go programs",
            ),
            Problem::Musl => (
                format!("{name} uses musl; the shim is made for glibc and would keep it from starting"),
                "build it for x86_64-linux-gnu",
            ),
            Problem::OtherLinker(linker) => (
                format!("{name} is started by {linker}, which is not glibc's dynamic linker"),
                "build it for x86_64-linux-gnu",
            ),
            Problem::OtherMachine(machine) => (
                format!("{name} is made for {machine}; retake records x86-64 programs"),
                "build it for x86_64-linux-gnu",
            ),
            Problem::Setuid => (
                format!("{name} is setuid or setgid: the dynamic linker ignores the shim in such programs"),
                "record a copy without that bit: cp it, then chmod ug-s the copy",
            ),
            Problem::Capabilities => (
                format!("{name} has file capabilities: the dynamic linker ignores the shim in such programs"),
                "record a copy (cp drops the capabilities)",
            ),
        }
    }
}

/// What was found out about a program.
#[derive(Clone, Debug)]
pub struct Program {
    /// The file that the kernel loads: the interpreter, if `path` was a script.
    pub image: PathBuf,
    pub problem: Option<Problem>,
    /// A Rust program that imports `syscall` but no pthread locks: its locks are futexes.
    pub futex_locks: bool,
    /// Address sanitizer's runtime wants to be loaded first.
    pub sanitizer: bool,
}

/// Looks at the program at `path`; scripts are followed to their interpreter.
pub fn examine(path: &Path) -> Program {
    examine_deep(path, 0)
}

fn examine_deep(path: &Path, depth: usize) -> Program {
    let mut program = Program { image: path.to_owned(), problem: None, futex_locks: false, sanitizer: false };
    let Some(bytes) = Bytes::of(path) else { return program };
    if depth < 4
        && bytes.starts_with(b"#!")
        && let Some(interpreter) = interpreter(&bytes)
    {
        return examine_deep(&interpreter, depth + 1);
    }
    program.problem = problem(&bytes).or_else(|| privileged(path));
    if let Ok(file) = ElfFile64::<Endianness>::parse(&*bytes) {
        let undefined: HashSet<&[u8]> = file
            .dynamic_symbols()
            .filter(|symbol| symbol.is_undefined())
            .filter_map(|symbol| symbol.name_bytes().ok())
            .collect();
        let imported = |name: &str| undefined.contains(name.as_bytes());
        program.futex_locks = imported("syscall") && !imported("pthread_mutex_lock") && is_rust(&file);
        program.sanitizer = imported("__asan_init");
    }
    program
}

/// The interpreter that a script names; for `env NAME`, the program of that name.
fn interpreter(bytes: &[u8]) -> Option<PathBuf> {
    let line = bytes[2..bytes.len().min(4096)].split(|byte| *byte == b'\n').next()?;
    let mut words = line.split(|byte| b" \t\r".contains(byte)).filter(|word| !word.is_empty());
    let first = PathBuf::from(OsStr::from_bytes(words.next()?));
    if first.file_name() == Some(OsStr::new("env"))
        && let Some(name) = words.find(|word| !word.starts_with(b"-") && !word.contains(&b'='))
    {
        let path = std::env::var_os("PATH");
        return crate::launch::find_program(OsStr::from_bytes(name), path.as_deref()).ok();
    }
    Some(first)
}

fn problem(bytes: &[u8]) -> Option<Problem> {
    if bytes.len() < 20 || !bytes.starts_with(b"\x7fELF") {
        return None;
    }
    let machine = u16::from_le_bytes([bytes[18], bytes[19]]);
    if bytes[4..6] != [2, 1] || machine != X86_64 {
        let name = match machine {
            3 => "32-bit x86",
            X86_64 => "the x32 ABI",
            183 => "64-bit ARM",
            40 => "32-bit ARM",
            243 => "RISC-V",
            _ => "another kind of machine",
        };
        return Some(Problem::OtherMachine(name.into()));
    }
    let file = ElfFile64::<Endianness>::parse(bytes).ok()?;
    if [".go.buildinfo", ".note.go.buildid"].iter().any(|name| file.section_by_name(name).is_some()) {
        return Some(Problem::Go);
    }
    let endian = Endianness::Little;
    let headers = file.elf_header().program_headers(endian, bytes).ok()?;
    let Some(linker) = headers.iter().find_map(|header| header.interpreter(endian, bytes).ok().flatten()) else {
        return Some(Problem::Static);
    };
    let linker = String::from_utf8_lossy(linker).into_owned();
    let name = linker.rsplit('/').next().unwrap_or_default();
    if name.starts_with("ld-musl") {
        return Some(Problem::Musl);
    }
    // Other paths of glibc's linker (Nix, Guix) keep its name.
    (!name.starts_with("ld-linux") && !name.starts_with("ld-2")).then_some(Problem::OtherLinker(linker))
}

fn privileged(path: &Path) -> Option<Problem> {
    let data = fs::metadata(path).ok()?;
    // SAFETY: these cannot fail.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    if data.mode() & 0o4000 != 0 && data.uid() != user || data.mode() & 0o2010 == 0o2010 && data.gid() != group {
        return Some(Problem::Setuid);
    }
    let name = std::ffi::CString::new(path.as_os_str().as_bytes()).ok()?;
    // SAFETY: C strings, and no room asked for.
    let long = unsafe { libc::getxattr(name.as_ptr(), c"security.capability".as_ptr(), std::ptr::null_mut(), 0) };
    (long > 0 && user != 0).then_some(Problem::Capabilities)
}

fn is_rust(file: &ElfFile64<'_, Endianness>) -> bool {
    let comment = file.section_by_name(".comment").and_then(|section| section.data().ok());
    let by_comment = comment.is_some_and(|text| text.windows(6).any(|part| part == b"rustc "));
    by_comment || file.symbols().any(|symbol| symbol.name() == Ok("rust_eh_personality"))
}

/// The program's build id, or its checksum and size where it has none.
pub fn identity(path: &Path) -> String {
    let Some(bytes) = Bytes::of(path) else { return "unreadable".into() };
    match build_id(&bytes) {
        Some(id) => id,
        None => format!("crc32c:{:08x}+{}", retake_tape::check::crc32c(0, &bytes), bytes.len()),
    }
}

/// The bytes of a file, mapped: programs may be large, and only little of them is looked at.
struct Bytes(*const u8, usize);

impl Bytes {
    fn of(path: &Path) -> Option<Bytes> {
        let file = fs::File::open(path).ok()?;
        let length = file.metadata().ok().filter(fs::Metadata::is_file)?.len() as usize;
        if length == 0 {
            return Some(Bytes(std::ptr::NonNull::dangling().as_ptr(), 0));
        }
        // SAFETY: a fresh, private map of the file.
        let at = unsafe {
            libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ, libc::MAP_PRIVATE, file.as_raw_fd(), 0)
        };
        (at != libc::MAP_FAILED).then_some(Bytes(at.cast(), length))
    }
}

impl std::ops::Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the map is as long as said and lives as long as self.
        unsafe { std::slice::from_raw_parts(self.0, self.1) }
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        if self.1 > 0 {
            // SAFETY: made by mmap with this length.
            unsafe { libc::munmap(self.0.cast_mut().cast(), self.1) };
        }
    }
}

/// The lowest address that the file is made for: 0 unless it is a program that lies at a fixed place.
pub fn lowest_address(path: &Path) -> u64 {
    let mut head = [0; 4096];
    // A device may be in memory, too, and opening or reading one may block.
    if !fs::metadata(path).is_ok_and(|found| found.is_file()) {
        return 0;
    }
    let Ok(length) = fs::File::open(path).and_then(|mut file| file.read(&mut head)) else { return 0 };
    let head = &head[..length];
    let Ok(header) = FileHeader64::<Endianness>::parse(head) else { return 0 };
    let order = header.endian().unwrap_or_default();
    let segments = header.program_headers(order, head).unwrap_or_default();
    let loaded = segments.iter().filter(|segment| segment.p_type(order) == object::elf::PT_LOAD);
    loaded.map(|segment| segment.p_vaddr(order) & !0xFFF).min().unwrap_or(0)
}

/// The build id of the ELF file that `bytes` hold, in hexadecimal.
pub fn build_id(bytes: &[u8]) -> Option<String> {
    let file = ElfFile64::<Endianness>::parse(bytes).ok()?;
    file.build_id().ok().flatten().filter(|id| !id.is_empty()).map(crate::words::hex)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_test_is_a_rust_program_with_futex_locks() {
        let own = std::env::current_exe().unwrap();
        let program = examine(&own);
        assert_eq!(program.problem, None);
        assert!(program.futex_locks);
        assert_eq!(identity(&own), identity(&own));
    }

    #[test]
    fn scripts_are_followed() {
        let temp = crate::take::TempDir::new().unwrap();
        let script = temp.path().join("script");
        fs::write(&script, "#! /bin/sh -e\n").unwrap();
        assert_eq!(examine(&script).image, Path::new("/bin/sh"));
        fs::write(&script, "#!/usr/bin/env -S FOO=1 sh\n").unwrap();
        assert!(examine(&script).image.ends_with("sh"));
        fs::write(&script, format!("#!{}\n", script.display())).unwrap();
        assert_eq!(examine(&script).problem, None);
    }

    #[test]
    fn strange_files_are_named() {
        let mut header = vec![0u8; 64];
        header[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1]);
        header[18] = 183;
        assert_eq!(problem(&header), Some(Problem::OtherMachine("64-bit ARM".into())));
        assert_eq!(problem(b"hello"), None);
        assert_eq!(problem(&header[..20]), Some(Problem::OtherMachine("64-bit ARM".into())));
    }
}
