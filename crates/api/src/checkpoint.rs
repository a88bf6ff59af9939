//! Checkpoints: every so many events a participant leaves a sleeping copy of its process behind and starts its tape afresh.
//!
//! The idea is CARE's (Morse, 1991), after Recap: full capture until the checkpoint, replay of one alone behind it.
//! Deviations: the tail is on the tape whatever kills the participant, and the copy plays what is there. The new part takes
//! the old one's place by a rename, and a copy is bound to the file of its part: at every moment there is a part with the
//! copy that belongs to it. The copy is no child of the participant, whose program may wait for children of its own.
//!
//! A process with several threads cannot be copied whole, and neither can two participants be in one: then the tape goes on
//! from where it began, and it is said why. Threads of the library's own do not count: what is played needs none of them, and
//! they stand still while the copy is made ([`parked`]).

use crate::asleep::{self, Bed, Fork};
use crate::capture::{Capture, part_name};
use crate::descriptors;
use crate::follow::Follow;
use crate::forked;
use crate::inbox::Inbox;
use crate::mode::{self, Mode, Settings};
use crate::parked::{self, Halt};
use crate::participant::{Participant, Tape};
use crate::real;
use crate::report::Reporter;
use crate::wire::{self, Fd};
use libc::{c_int, c_void};
use retake_engine::sys;
use retake_tape::copy::ENDING;
use retake_tape::session::{BEFORE_COPY, NEXT_PART_ENDING, PART_ENDING, PLAY_ON};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

/// A participant that finishes waits so long, at most, until its copy cannot be woken any more.
const RETIRE_MS: i32 = 1000;

/// When a participant makes checkpoints, and what it holds of the last.
pub struct Checkpoints {
    settings: Settings,
    life: u32,
    every: u64,
    /// The event before which the next one is due.
    due: u64,
    fork: Option<Fork>,
    /// To tell the copy that it is not needed any more.
    leash: Option<Fd>,
    /// It was said why there is none.
    told: bool,
}

/// Why there is no checkpoint now.
enum Not {
    /// A thread of the library's own is just leaving, or is at work: soon.
    Yet,
    Possible(String),
}

impl Checkpoints {
    pub fn new(settings: &Settings, name: &str, life: u32) -> Option<Box<Checkpoints>> {
        let Mode::Checkpoint(every) = settings.mode else { return None };
        // SAFETY: libc's function of that name has this type.
        let fork = real::find(c"_Fork").map(|found| unsafe { std::mem::transmute::<*mut c_void, Fork>(found) });
        let (settings, every) = (settings.clone(), u64::from(every.max(1)));
        let mut checkpoints = Checkpoints { settings, life, every, due: every, fork, leash: None, told: false };
        if fork.is_none() {
            checkpoints.tell(name, "the C library has no _Fork");
            checkpoints.due = u64::MAX;
        }
        Some(Box::new(checkpoints))
    }

    pub fn is_due(&self, event: u64) -> bool {
        event >= self.due
    }

    fn take(&self) -> &Path {
        self.settings.take.as_deref().unwrap_or(Path::new("."))
    }

    fn tell(&mut self, name: &str, why: &str) {
        if !std::mem::replace(&mut self.told, true) {
            let from = if self.leash.is_some() { "its last checkpoint" } else { "its beginning" };
            let line = format!("retake: {name} is not checkpointed: {why}; its tape goes on from {from}\n");
            // SAFETY: the text lives as long as the call.
            unsafe { sys::write(2, line.as_ptr() as usize, line.len()) };
        }
    }

    /// The copy is not needed any more. Its end of the leash is returned: it closes when nobody can wake the copy.
    fn retire(&mut self) -> Option<Fd> {
        self.leash.take().inspect(|leash| descriptors::send(leash.0, b"r"))
    }
}

impl Drop for Checkpoints {
    /// The participant has finished; one that panics has not.
    fn drop(&mut self) {
        if !std::thread::panicking()
            && let Some(leash) = self.retire()
        {
            let mut polled = [libc::pollfd { fd: leash.0, events: libc::POLLIN, revents: 0 }];
            let _ = wire::poll(&mut polled, RETIRE_MS);
        }
    }
}

/// The parts of a checkpoint that is being made.
struct Made {
    capture: Capture,
    part: c_int,
    leash: [c_int; 2],
    ready: [c_int; 2],
}

impl Participant {
    /// Leaves a sleeping copy of the process behind. Returns in the copy's copies, too, when they are to play the tail.
    pub(crate) fn checkpoint(&mut self) {
        let Some(mut plan) = self.checkpoints.take() else { return };
        plan.due = self.event + plan.every;
        match self.lay_down(&mut plan) {
            Ok(()) => plan.told = false,
            Err(Not::Yet) => plan.due = self.event + 1,
            Err(Not::Possible(why)) => plan.tell(&self.name, &why),
        }
        if matches!(self.tape, Tape::Follow(_)) {
            // The leash is another process's.
            std::mem::forget(plan);
        } else {
            self.checkpoints = Some(plan);
        }
    }

    fn lay_down(&mut self, plan: &mut Checkpoints) -> Result<(), Not> {
        let halt = alone()?;
        let fork = plan.fork.ok_or_else(|| Not::Possible("the C library has no _Fork".into()))?;
        let made = self.prepare(plan)?;
        let part = part_name(&self.name, plan.life);
        let inode = descriptors::told(made.part).map_or(0, |told| told.st_ino);
        let text = |path: PathBuf| CString::new(path.as_os_str().as_bytes()).unwrap_or_default();
        let bed = Bed {
            fork,
            part: made.part,
            path: text(plan.take().join(format!("{part}{PART_ENDING}"))),
            directory: text(plan.take().to_owned()),
            socket: format!("{inode}{ENDING}"),
            leash: made.leash[0],
            ready: made.ready[1],
        };
        if let Some(function) = mode::find(BEFORE_COPY) {
            // SAFETY: the shim's function of that name has this type.
            unsafe { std::mem::transmute::<usize, extern "C" fn()>(function)() };
        }
        match copied(fork) {
            Some(true) => {
                parked::begin_afresh();
                descriptors::close(made.leash[1]);
                descriptors::close(made.ready[0]);
                std::mem::forget(made.capture);
                self.play_tail(plan, bed);
                Ok(())
            }
            made_one => {
                drop(halt);
                self.go_on(plan, made, made_one == Some(false))
            }
        }
    }

    fn prepare(&self, plan: &Checkpoints) -> Result<Made, Not> {
        let system = |errno: c_int| Not::Possible(std::io::Error::from_raw_os_error(errno).to_string());
        let capture = Capture::next(&plan.settings, &self.name, plan.life, self.event)
            .map_err(|error| Not::Possible(error.to_string()))?;
        let file = format!("{}{NEXT_PART_ENDING}", part_name(&self.name, plan.life));
        let path = CString::new(plan.take().join(file).as_os_str().as_bytes()).unwrap_or_default();
        let part = descriptors::open(&path, libc::O_RDONLY).map_err(system)?;
        let leash = descriptors::pair().map_err(system)?;
        let ready = descriptors::pair().map_err(system)?;
        Ok(Made { capture, part, leash, ready })
    }

    /// In the participant: waits until the copy sleeps, and lets the new part take the place of the old one.
    fn go_on(&mut self, plan: &mut Checkpoints, made: Made, copied: bool) -> Result<(), Not> {
        [made.part, made.leash[0], made.ready[1]].into_iter().for_each(descriptors::close);
        let mut byte = 0u8;
        let ready = made.ready[0] as usize;
        let told = loop {
            // SAFETY: one byte of room.
            let got = unsafe { sys::read(ready, &raw mut byte as usize, 1) };
            if sys::error(got) != Some(libc::EINTR) {
                break got;
            }
        };
        let asleep = copied && told == 1;
        descriptors::close(made.ready[0]);
        let leash = Fd::new(made.leash[1] as isize).ok();
        if !asleep {
            made.capture.discard();
            return Err(Not::Possible("no copy of its process could be made".into()));
        }
        let Tape::Capture(capture) = &mut self.tape else { return Ok(()) };
        // A copy whose leash is let go of ends, unless its part is in place.
        if !capture.replace(made.capture, plan.take(), &self.name, plan.life) {
            return Err(Not::Possible("its tape could not be started afresh".into()));
        }
        drop(plan.retire());
        plan.leash = leash;
        self.on_tape.clear();
        self.objects.clear();
        Ok(())
    }

    /// In the copy: sleeps, and goes on in each process that is to play the tail.
    fn play_tail(&mut self, plan: &Checkpoints, bed: Bed) {
        let woken = asleep::sleep(bed);
        // What belonged to the participant's connections is closed.
        std::mem::forget(self.transport.take());
        std::mem::forget(std::mem::take(&mut self.inbox));
        self.inbox = Inbox::default();
        // SAFETY: what stood there was printed by the participant.
        unsafe { forget_printed() };
        mode::wake(plan.settings.take.as_deref(), &woken.session);
        if let Some(function) = mode::find(PLAY_ON).filter(|_| plan.settings.session.is_some()) {
            type PlayOn = unsafe extern "C" fn(*const u8, usize) -> c_int;
            // SAFETY: the shim's function of that name has this type.
            let plays =
                unsafe { std::mem::transmute::<usize, PlayOn>(function)(woken.session.as_ptr(), woken.session.len()) };
            if plays == 0 {
                fail("the recording of its process cannot be played on");
            }
        }
        let reporter = Reporter::new(&plan.settings, &self.name);
        match Follow::of(woken.part, true, reporter) {
            Ok(follow) => std::mem::forget(std::mem::replace(&mut self.tape, Tape::Follow(Box::new(follow)))),
            Err(why) => fail(&why),
        }
    }
}

/// Whether this process can be copied whole: nobody else of the program is in it. Threads of the library's own are halted.
fn alone() -> Result<Halt, Not> {
    let participants = forked::PRESENT.load(Relaxed);
    if participants > 1 {
        return Err(Not::Possible(format!("{participants} participants are in its process")));
    }
    let halt = Halt::new().ok_or(Not::Yet)?;
    match halt.others().ok_or(Not::Yet)? {
        0 | 1 => Ok(halt),
        threads => Err(Not::Possible(format!("its process has {threads} threads, and a copy would have only one"))),
    }
}

/// Copies this process: true in the copy, false here. The copy is nobody's child.
fn copied(fork: Fork) -> Option<bool> {
    // SAFETY: a child without a signal at its end, so that the program does not see it; it shares no memory, and makes one
    // call of libc, which may be made in the child of a process whose other threads are in the middle of nothing.
    unsafe {
        let between = sys::clone(0, 0, 0, 0);
        if between == 0 {
            if fork() == 0 {
                return Some(true);
            }
            loop {
                sys::exit_group(0);
            }
        }
        if between < 0 {
            return None;
        }
        while sys::error(sys::wait4(between as usize, 0, libc::__WALL as usize, 0)) == Some(libc::EINTR) {}
        Some(false)
    }
}

/// What the program had printed and not written when it was copied is the participant's to write.
unsafe fn forget_printed() {
    unsafe extern "C" {
        static stdout: *mut libc::FILE;
        fn __fpurge(stream: *mut libc::FILE);
    }
    // SAFETY: libc's own stream.
    unsafe { __fpurge(stdout) };
}

fn fail(why: &str) -> ! {
    let line = format!("retake: the tail cannot be played: {why}\n");
    loop {
        // SAFETY: the text lives as long as the call; the process ends here.
        unsafe {
            sys::write(2, line.as_ptr() as usize, line.len());
            sys::exit_group(125);
        }
    }
}
