//! From addresses of a recorded process to source lines, functions and names of variables.
//!
//! Where the modules lay is on the tape; what is in them is read from the files, unless those have changed since.

use crate::elf;
use crate::unwind::Unwind;
use crate::words;
use object::{Object, ObjectSymbol};
use retake_tape::entry::{Entry, note};
use retake_tape::reader::Tape;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// A module in the memory of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Module {
    base: u64,
    size: u64,
    build_id: String,
    path: PathBuf,
}

/// What could be read of a module's file.
struct Loaded {
    lines: Option<addr2line::Loader>,
    /// Variables: address, size, name.
    variables: Vec<(u64, u64, String)>,
    unwind: Option<Unwind>,
}

/// A place in a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    pub file: Option<String>,
    pub line: Option<u32>,
    pub function: Option<String>,
    /// `module+offset`, which is always known.
    pub module: String,
}

impl Place {
    /// Whether it lies in a header that came with the system, or in Rust's own libraries: nothing that the user wrote.
    fn is_of_system(&self) -> bool {
        let is_theirs = |file: &str| file.starts_with("/usr/") || RUST.iter().any(|part| file.contains(part));
        self.file.as_deref().is_none_or(is_theirs)
    }

    /// Whether it lies in the C++ library, or in a header that came with the system.
    fn is_of_library(&self) -> bool {
        self.module.starts_with("libstdc++") || self.file.is_some() && self.is_of_system()
    }

    /// With a path as short as it is still clear.
    fn shown(&self) -> Place {
        Place { file: self.file.as_deref().map(shortened), ..self.clone() }
    }

    /// Whether it lies in libc or in the dynamic linker, or is what they start programs by.
    pub fn is_libc(&self) -> bool {
        let modules = ["libc.so", "libc-", "ld-linux", "libpthread"];
        modules.iter().any(|start| self.module.starts_with(start)) || self.function.as_deref() == Some("_start")
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line, &self.function) {
            (Some(file), Some(line), Some(function)) => write!(f, "{file}:{line} ({function})"),
            (Some(file), Some(line), None) => write!(f, "{file}:{line}"),
            (_, _, Some(function)) => write!(f, "{} ({function})", self.module),
            _ => write!(f, "{}", self.module),
        }
    }
}

/// What was found, to be kept: the module's file, the place in it, what lies there.
#[derive(Serialize, Deserialize)]
pub struct Kept {
    schema: u32,
    frames: Vec<(String, u64, Vec<Place>)>,
    variables: Vec<(String, u64, String)>,
}

/// Looks addresses up, process by process.
#[derive(Default)]
pub struct Symbols {
    modules: HashMap<String, Vec<Module>>,
    files: HashMap<PathBuf, Option<Loaded>>,
    /// What lies at an address: all that was inlined there, innermost first, then the function itself.
    frames: HashMap<(PathBuf, u64), Vec<Place>>,
    variables: HashMap<(PathBuf, u64), String>,
    /// The addresses are those of a replay: the files as they are now, not as they were recorded.
    present: bool,
}

/// What is in memory where. The kernel does not tell it of a main thread that has ended, but of the others.
fn maps_of(pid: i32) -> String {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let mut maps = tasks.filter_map(|task| fs::read_to_string(task.path().join("maps")).ok());
    maps.find(|maps| !maps.is_empty()).unwrap_or_default()
}

impl Symbols {
    /// Takes the modules from the notes on the tapes.
    pub fn new(tapes: &[Tape]) -> Symbols {
        let mut symbols = Symbols::default();
        for tape in tapes {
            let mut modules: Vec<Module> = Vec::new();
            for thread in &tape.threads {
                let mut payload = tape.payload(thread);
                while let Ok(Some((_, entry))) = payload.next_entry() {
                    if let Entry::Note(note::MODULE, text) = entry {
                        modules.extend(Module::parse(&String::from_utf8_lossy(text)));
                    }
                }
            }
            symbols.modules.insert(tape.name(), modules);
        }
        symbols
    }

    /// Takes the modules from a process that still runs.
    pub fn of_process(process: &str, pid: i32) -> Symbols {
        let maps = maps_of(pid);
        let mut modules: Vec<Module> = Vec::new();
        for line in maps.lines() {
            // start-end flags offset device inode path
            let mut words = line.split_ascii_whitespace();
            let (Some(range), Some(path)) = (words.next(), line.find('/').map(|at| &line[at..])) else { continue };
            let hex = |word: &str| u64::from_str_radix(word, 16).ok();
            let Some((Some(start), Some(end))) = range.split_once('-').map(|(from, to)| (hex(from), hex(to))) else {
                continue;
            };
            match modules.iter_mut().find(|module| module.path == Path::new(path)) {
                Some(module) => module.size = end.saturating_sub(module.base),
                None => {
                    let base = start.saturating_sub(elf::lowest_address(Path::new(path)));
                    modules.push(Module { base, size: end - base, build_id: "-".into(), path: path.into() });
                }
            }
        }
        Symbols { present: true, modules: HashMap::from([(process.to_owned(), modules)]), ..Symbols::default() }
    }

    /// Whether it is known what the process has in memory.
    pub fn knows(&self, process: &str) -> bool {
        self.modules.get(process).is_some_and(|modules| !modules.is_empty())
    }

    /// The full address in a module of which only the lower half is known.
    pub fn widened(&self, process: &str, half: u32) -> Option<u64> {
        let modules = self.modules.get(process)?;
        modules.iter().find_map(|module| {
            let near = module.base & !0xFFFF_FFFF | u64::from(half);
            (near >= module.base && near - module.base < module.size).then_some(near)
        })
    }

    /// The same for addresses of a replay, whose modules may have been built anew.
    pub fn of_replay(tapes: &[Tape]) -> Symbols {
        Symbols { present: true, ..Symbols::new(tapes) }
    }

    /// All that was found so far and has a name or a line.
    pub fn kept(&self) -> Kept {
        let path = |path: &Path| path.to_string_lossy().into_owned();
        let known = |frames: &[Place]| frames.iter().any(|place| place.file.is_some() || place.function.is_some());
        let frames = self.frames.iter().filter(|(_, frames)| known(frames));
        let mut frames: Vec<_> = frames.map(|((file, at), found)| (path(file), *at, found.clone())).collect();
        let mut variables: Vec<_> = self.variables.iter().map(|((f, at), name)| (path(f), *at, name.clone())).collect();
        frames.sort_by(|one, two| (&one.0, one.1).cmp(&(&two.0, two.1)));
        variables.sort();
        Kept { schema: 1, frames, variables }
    }

    /// Takes over what was found earlier, when the files were the recorded ones. It may come from a stranger.
    pub fn recall(&mut self, kept: Kept) {
        if kept.schema != 1 {
            return;
        }
        let clean = |place: Place| Place {
            file: place.file.as_deref().map(words::clean),
            function: place.function.as_deref().map(words::clean),
            module: words::clean(&place.module),
            ..place
        };
        for (file, at, frames) in kept.frames.into_iter().filter(|(_, _, frames)| !frames.is_empty()) {
            self.frames.insert((file.into(), at), frames.into_iter().map(clean).collect());
        }
        for (file, at, name) in kept.variables {
            self.variables.insert((file.into(), at), words::clean(&name));
        }
    }

    /// Where the return address `pc` comes back to: the call before it.
    pub fn call(&mut self, process: &str, pc: u64) -> Option<Place> {
        self.place(process, pc.wrapping_sub(1))
    }

    /// Whether that call is one of the C++ library's own, and not inlined into a function of the user's.
    pub fn is_in_library(&mut self, process: &str, pc: u64) -> bool {
        let frames = self.frames(process, pc.wrapping_sub(1));
        !frames.is_empty() && frames.iter().all(Place::is_of_library)
    }

    /// As many of the return addresses as are a stack for certain: each but the first was found through the frame pointer
    /// of the function that the one before lies in.
    pub fn certain<'a>(&mut self, process: &str, pcs: &'a [u64]) -> &'a [u64] {
        let mut has_pointer = |pc: &&u64| self.has_frame_pointer(process, pc.wrapping_sub(1));
        let many = pcs.iter().take_while(|pc| has_pointer(pc)).count() + 1;
        &pcs[..many.min(pcs.len())]
    }

    fn has_frame_pointer(&mut self, process: &str, address: u64) -> bool {
        let Some(module) = self.module(process, address).cloned() else { return false };
        let unwind = self.file(&module).and_then(|loaded| loaded.unwind.as_ref());
        unwind.is_some_and(|unwind| unwind.has_frame_pointer(address - module.base))
    }

    /// The same for a whole stack, with all functions that were inlined there, innermost first. Frames of libc and of the
    /// system's headers say nothing to the reader; of the latter all are told if nothing else has a line.
    pub fn calls(&mut self, process: &str, pcs: &[u64]) -> Vec<Place> {
        let mut places: Vec<Place> = pcs.iter().flat_map(|pc| self.frames(process, pc.wrapping_sub(1))).collect();
        places.retain(|place| !place.is_libc());
        if places.iter().any(|place| !place.is_of_system()) {
            places.retain(|place| !place.is_of_library());
        }
        places.iter().map(Place::shown).collect()
    }

    /// The first of the return addresses that has a source line of the user's own, else any line, else the first that lies
    /// in a module.
    pub fn first_known(&mut self, process: &str, pcs: &[u64]) -> Option<Place> {
        let frames = pcs.iter().flat_map(|pc| self.frames(process, pc.wrapping_sub(1)));
        let places: Vec<Place> = frames.filter(|place| !place.module.starts_with(crate::shim::START)).collect();
        let own = places.iter().find(|place| !place.is_of_system());
        own.or(places.iter().find(|place| place.file.is_some())).or(places.first()).map(Place::shown)
    }

    /// The callers that have a source line, innermost first; else the first that lies in a module.
    pub fn stack(&mut self, process: &str, pcs: &[u64]) -> Vec<Place> {
        let frames: Vec<Place> = pcs.iter().flat_map(|pc| self.frames(process, pc.wrapping_sub(1))).collect();
        let (known, unknown): (Vec<Place>, Vec<Place>) = frames.into_iter().partition(|place| place.file.is_some());
        let own: Vec<Place> = known.iter().filter(|place| !place.is_of_system()).map(Place::shown).collect();
        let rest = known.iter().chain(&unknown).take(1).map(Place::shown);
        if own.is_empty() { rest.collect() } else { own }
    }

    /// What a thread was created to run, if that is a function of the program. C++ and Rust start their threads by one of their own: then
    /// it is the function that was called from there, if `pcs`, a stack of that thread, reaches so far.
    pub fn runs(&mut self, process: &str, start: u64, pcs: &[u64]) -> Option<String> {
        let place = self.place(process, start)?;
        let starts = |function: &String| STARTS.iter().any(|name| function.contains(name));
        if !place.module.starts_with(CXX_RUNTIME) && !place.function.as_ref().is_some_and(starts) {
            return place.function;
        }
        let frames: Vec<Place> = pcs.iter().flat_map(|pc| self.frames(process, pc.wrapping_sub(1))).collect();
        let outermost = frames.iter().rposition(|place| !place.is_of_system())?;
        frames.get(outermost + 1)?;
        frames[outermost].function.clone()
    }

    /// The place of the instruction at `address`; if it was inlined from a header of the system, the line that used it.
    pub fn place(&mut self, process: &str, address: u64) -> Option<Place> {
        let frames = self.frames(process, address);
        frames.iter().find(|place| !place.is_of_system()).or(frames.first()).map(Place::shown)
    }

    fn frames(&mut self, process: &str, address: u64) -> Vec<Place> {
        let Some(module) = self.module(process, address).cloned() else { return Vec::new() };
        let within = address - module.base;
        let key = (module.path.clone(), within);
        if let Some(frames) = self.frames.get(&key) {
            return frames.clone();
        }
        let name = module.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let unknown = Place { module: format!("{name}+{within:#x}"), ..Place::default() };
        let lines = self.file(&module).and_then(|loaded| loaded.lines.as_ref());
        let mut frames = lines.map_or_else(Vec::new, |lines| found(lines, within, &unknown));
        if frames.is_empty() {
            frames.push(unknown);
        }
        self.frames.insert(key, frames.clone());
        frames
    }

    /// The variable that lies at `address`, such as `accounts` or `accounts+40`.
    pub fn variable(&mut self, process: &str, address: u64) -> Option<String> {
        let module = self.module(process, address)?.clone();
        let within = address - module.base;
        let key = (module.path.clone(), within);
        if let Some(name) = self.variables.get(&key) {
            return Some(name.clone());
        }
        let variables = &self.file(&module)?.variables;
        let at = variables.partition_point(|(start, _, _)| *start <= within).checked_sub(1)?;
        let (start, size, name) = &variables[at];
        let inside = within - start;
        if inside >= *size {
            return None;
        }
        let name = if inside == 0 { plain(name) } else { format!("{}+{inside}", plain(name)) };
        self.variables.insert(key, name.clone());
        Some(name)
    }

    fn module(&self, process: &str, address: u64) -> Option<&Module> {
        // A forked process has its parent's modules.
        let mut name = process;
        let modules = loop {
            match self.modules.get(name) {
                Some(modules) if !modules.is_empty() => break modules,
                _ => name = name.rsplit_once('.')?.0,
            }
        };
        modules.iter().rev().find(|module| address >= module.base && address - module.base < module.size)
    }

    fn file(&mut self, module: &Module) -> Option<&Loaded> {
        let loaded = self.files.entry(module.path.clone()).or_insert_with(|| load(module, self.present));
        loaded.as_ref()
    }
}

impl Module {
    fn parse(text: &str) -> Option<Module> {
        let mut words = text.splitn(4, ' ');
        let number = |word: Option<&str>| u64::from_str_radix(word?.trim_start_matches("0x"), 16).ok();
        let (base, size) = (number(words.next())?, number(words.next())?);
        let build_id = words.next()?.to_owned();
        Some(Module { base, size, build_id, path: words.next()?.into() })
    }
}

/// The frames at `within`; the last one has its name from the symbol table if it has no other.
fn found(lines: &addr2line::Loader, within: u64, unknown: &Place) -> Vec<Place> {
    let mut frames = Vec::new();
    if let Ok(mut all) = lines.find_frames(within) {
        while let Ok(Some(frame)) = all.next() {
            let function = frame.function.as_ref().and_then(|function| Some(plain(&function.raw_name().ok()?)));
            let (file, line) = frame.location.map_or((None, None), |at| (at.file.map(str::to_owned), at.line));
            frames.push(Place { file, line, function, ..unknown.clone() });
        }
    }
    if frames.is_empty() {
        frames.push(unknown.clone());
    }
    if let Some(last) = frames.last_mut()
        && last.function.is_none()
    {
        last.function = lines.find_symbol(within).map(plain);
    }
    frames
}

fn load(module: &Module, present: bool) -> Option<Loaded> {
    let bytes = fs::read(&module.path).ok()?;
    if !present
        && let Some(now) = elf::build_id(&bytes)
        && module.build_id.len() > 1
        && !now.eq_ignore_ascii_case(&module.build_id)
    {
        return None;
    }
    let file = object::File::parse(&*bytes).ok()?;
    let mut variables: Vec<_> = file
        .symbols()
        .chain(file.dynamic_symbols())
        .filter(|symbol| symbol.kind() == object::SymbolKind::Data && symbol.is_definition() && symbol.size() > 0)
        .filter_map(|symbol| Some((symbol.address(), symbol.size(), symbol.name().ok()?.to_owned())))
        .collect();
    variables.sort();
    variables.dedup_by_key(|(start, _, _)| *start);
    Some(Loaded { lines: addr2line::Loader::new(&module.path).ok(), variables, unwind: Unwind::of(&file) })
}

/// Where C++'s threads begin; the functions, by their names, if the library is a part of the program.
const CXX_RUNTIME: &str = "libstdc++";
/// By which C++ and Rust start threads.
const STARTS: [&str; 3] = ["execute_native_thread_routine", "__thread_proxy", "::new::thread_start"];
/// Where the sources of Rust's libraries lie: as they are named when they are built, and where they are installed.
const RUST: [&str; 2] = ["/rustc/", "/lib/rustlib/src/"];

/// A symbol as its author wrote it. Only what looks mangled is demangled: `a` alone would become `signed char`.
fn plain(symbol: &str) -> String {
    let name = if symbol.starts_with("_Z") || symbol.starts_with("_R") {
        addr2line::demangle_auto(symbol.into(), None).into_owned()
    } else {
        symbol.to_owned()
    };
    let name = name.replace(STRING, "std::string");
    // Debug information names what lambdas do so, and nothing else: classes come with their names.
    if name == "operator()" { "lambda".into() } else { name.replace(UNNAMED[0], "").replace(UNNAMED[1], "") }
}

/// What C++ calls a string.
const STRING: &str = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >";

/// What stands before names in a namespace without a name.
const UNNAMED: [&str; 2] = ["_GLOBAL__N_1::", "(anonymous namespace)::"];

/// A path as short as it is still clear: relative to here if it lies below, else its last two parts.
fn shortened(path: &str) -> String {
    if let Ok(here) = std::env::current_dir()
        && let Ok(below) = Path::new(path).strip_prefix(here)
    {
        return below.to_string_lossy().into_owned();
    }
    let parts: Vec<&str> = path.rsplit('/').take(2).collect();
    match &parts[..] {
        [file, dir] if !dir.is_empty() => format!("{dir}/{file}"),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_read() {
        let module = Module::parse("555555554000 5000 abcd /tmp/my prog").unwrap();
        assert_eq!((module.base, module.size), (0x5555_5555_4000, 0x5000));
        assert_eq!(module.path, Path::new("/tmp/my prog"));
        assert_eq!(Module::parse("xyz"), None);
    }

    #[test]
    fn only_mangled_names_are_changed() {
        assert_eq!(plain("a"), "a");
        assert_eq!(plain("_Z4lockv"), "lock()");
        assert_eq!(plain("_ZN12_GLOBAL__N_14bankE"), "bank");
        assert_eq!(plain("operator()"), "lambda");
    }

    /// Not put into its caller, so that it has a symbol in every build.
    #[inline(never)]
    fn easily_found() -> u32 {
        std::hint::black_box(7)
    }

    #[test]
    fn a_function_is_found() {
        assert_eq!(easily_found(), 7);
        let own = std::env::current_exe().unwrap();
        let module = Module { base: 0x1000, size: 1 << 40, build_id: "-".into(), path: own.clone() };
        let mut symbols = Symbols::default();
        symbols.modules.insert("0".into(), vec![module]);
        let bytes = fs::read(&own).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let ours = file.symbols().find(|symbol| symbol.name().is_ok_and(|name| name.contains("easily_found"))).unwrap();
        let place = symbols.place("0", ours.address() + 0x1000).unwrap();
        assert!(place.function.unwrap().contains("easily_found"));
        assert_eq!(symbols.place("1", 5), None);
    }
}
