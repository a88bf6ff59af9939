//! `retake demo`: a program that gives another result each time, recorded once and replayed to the same result.

use crate::Ending;
use crate::status::{Context, Failure, Result, Status};
use crate::take::TempDir;
use std::process::{Command, Output};

const RUNS: usize = 5;
/// The hidden command that is the program shown.
pub const PROGRAM: &str = "__demo-program";

pub fn main() -> Result<Ending> {
    let own = std::env::current_exe().because(|| "cannot find this program".into())?;
    let temp = TempDir::new()?;
    let take = temp.path().join("demo");
    let run = |arguments: &[&str]| -> Result<String> {
        let mut command = Command::new(&own);
        command.args(arguments).env("RETAKE_DIR", temp.path().join("store"));
        answer(&command.output().because(|| format!("cannot start {}", own.display()))?, arguments)
    };
    let (take, program) = (take.to_string_lossy().into_owned(), own.to_string_lossy().into_owned());
    println!("Four clerks book deposits into one account. Each looks up the balance, and writes back more.");
    println!("Every access is locked, but not both together: deposits get lost, other ones each time.");
    println!();
    println!("Five plain runs:");
    for _ in 0..RUNS {
        println!("  {}", run(&[PROGRAM])?);
    }
    println!();
    println!("One recorded run (retake record):");
    let recorded = run(&["record", "--quiet", "-o", &take, "--", &program, PROGRAM])?;
    println!("  {recorded}");
    println!();
    println!("Five replays of it (retake replay):");
    let mut same = 0;
    for _ in 0..RUNS {
        let replayed = run(&["replay", &take])?;
        same += usize::from(replayed == recorded);
        println!("  {replayed}");
    }
    println!();
    if same < RUNS {
        return Err(Failure::new(Status::Diverged, format!("only {same} of {RUNS} replays gave the recorded result"))
            .next("retake doctor"));
    }
    println!("All the same: who took the lock after whom was on the tape, and was enforced. A failure that is");
    println!("recorded once can be looked at as often as you like, with prints added and a debugger attached.");
    println!();
    println!("next: retake record -- YOUR PROGRAM · retake replay · retake show");
    Ok(Ending::Status(Status::Fine))
}

fn answer(output: &Output, arguments: &[&str]) -> Result<String> {
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if output.status.success() && !text.is_empty() {
        return Ok(text);
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Failure::own(format!("the demo failed at `retake {}` ({})\n{said}", arguments.join(" "), output.status))
        .next("retake doctor"))
}

/// The program itself: plain pthread calls, as a C program makes them.
pub mod program {
    use std::cell::UnsafeCell;
    use std::mem::zeroed;
    use std::ptr::{null, null_mut};

    const CLERKS: usize = 4;
    const DEPOSITS: usize = 2000;

    struct Bank {
        opening: UnsafeCell<libc::pthread_barrier_t>,
        lock: UnsafeCell<libc::pthread_mutex_t>,
        balance: UnsafeCell<usize>,
    }

    // SAFETY: the balance is only touched while the lock is held.
    unsafe impl Sync for Bank {}

    static BANK: Bank = Bank {
        // SAFETY: initialised before the clerks start.
        opening: UnsafeCell::new(unsafe { zeroed() }),
        lock: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER),
        balance: UnsafeCell::new(0),
    };

    /// Does something with the balance while the account is locked.
    fn locked(work: impl FnOnce(&mut usize)) {
        // SAFETY: the mutex is static; the balance is ours while it is locked.
        unsafe {
            libc::pthread_mutex_lock(BANK.lock.get());
            work(&mut *BANK.balance.get());
            libc::pthread_mutex_unlock(BANK.lock.get());
        }
    }

    /// Now and then, by the clock: so that even on one processor no two runs are alike.
    fn is_coffee_time() -> bool {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: a clock that every system has, and room for what it shows.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
        (now.tv_nsec / 10) % 8 == 0
    }

    extern "C" fn clerk(_: *mut libc::c_void) -> *mut libc::c_void {
        // SAFETY: initialised by then; all clerks start together.
        unsafe { libc::pthread_barrier_wait(BANK.opening.get()) };
        for deposit in 0..DEPOSITS {
            let mut seen = 0;
            locked(|balance| seen = *balance);
            if is_coffee_time() {
                // SAFETY: always allowed.
                unsafe { libc::sched_yield() };
            }
            locked(|balance| *balance = seen + 1 + deposit % 10);
        }
        null_mut()
    }

    pub fn main() {
        // SAFETY: threads are created and joined as POSIX asks for.
        unsafe {
            libc::pthread_barrier_init(BANK.opening.get(), null(), CLERKS as u32);
            let mut clerks: [libc::pthread_t; CLERKS] = [0; CLERKS];
            for thread in &mut clerks {
                assert_eq!(libc::pthread_create(thread, null(), clerk, null_mut()), 0);
            }
            for thread in clerks {
                libc::pthread_join(thread, null_mut());
            }
        }
        let mut end = 0;
        locked(|balance| end = *balance);
        println!("{} deposits, balance {end}", CLERKS * DEPOSITS);
    }
}
