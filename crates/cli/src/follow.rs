//! `retake follow`: run a program one thread at a time, in the order that a schedule gives (P-Rep).
//!
//! It is a recording under a schedule: what comes of it is a take like any other.

use crate::Ending;
use crate::deadlock::OnDeadlock;
use crate::facts::Ended;
use crate::launch::Verdict;
use crate::outside;
use crate::record;
use crate::schedule::Schedule;
use crate::session::{Mapped, create_map};
use crate::status::{Failure, Result, Status, say};
use crate::symbols::Symbols;
use crate::words;
use retake_tape::schedule::{FILE, Header, NOBODY, size, then};
use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Then {
    /// Everyone waits, so that a debugger can look
    Hang,
    /// The program is ended
    Stop,
    /// Everyone goes on freely
    Resume,
}

#[derive(clap::Args)]
pub struct Args {
    /// Threads in the order in which they run, such as 0,0,1,2; or a file that holds it; or a take
    schedule: String,
    /// What happens at the end of the schedule
    #[arg(long, value_enum, default_value = "hang")]
    then: Then,
    /// Tell each step
    #[arg(short, long)]
    verbose: bool,
    /// Put the take here instead of into the store
    #[arg(short, long, value_name = "DIR")]
    output: Option<OsString>,
    /// What becomes of the program if it deadlocks
    #[arg(long, value_enum, default_value = "hang")]
    on_deadlock: OnDeadlock,
    /// Run the command of a take that was not recorded here, to get its schedule
    #[arg(long)]
    trust: bool,
    /// The program and its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

pub fn main(args: Args) -> Result<Ending> {
    let schedule = Schedule::find(&args.schedule, args.trust)?;
    let plan = Plan { schedule, then: args.then, verbose: args.verbose };
    record::follow(record::Args::to_follow(args.output, args.on_deadlock, args.command), plan)
}

/// What is to be followed, and how.
pub struct Plan {
    schedule: Schedule,
    then: Then,
    verbose: bool,
}

impl Plan {
    /// Lays the schedule down in the take.
    pub fn write(&self, take: &Path) -> Result<Following<'_>> {
        let length = self.schedule.steps.len();
        let (at, _) = create_map(&take.join(FILE), size(length))?;
        let then = match self.then {
            Then::Hang => then::HANG,
            Then::Stop => then::STOP,
            Then::Resume => then::RESUME,
        };
        let header = Header::new(length as u32, self.schedule.points, then, self.verbose);
        let following = Following { plan: self, at: at.cast(), told: false, outside: outside::Watch::default() };
        // SAFETY: the file is large enough for the header and its lists, and nobody else has it yet.
        unsafe { following.at.write(header) };
        let [given, followed, outcomes] = following.lists();
        for (index, step) in self.schedule.steps.iter().enumerate() {
            given[index].store(step.thread, Relaxed);
            followed[index].store(NOBODY, Relaxed);
            outcomes[index].store(step.outcome, Relaxed);
        }
        Ok(following)
    }
}

/// A schedule that is being followed.
pub struct Following<'a> {
    plan: &'a Plan,
    /// Mapped as long as this process runs.
    at: *mut Header,
    told: bool,
    outside: outside::Watch,
}

impl Following<'_> {
    fn header(&self) -> &'static Header {
        // SAFETY: written by `write`; what others change of it are atomics. Mapped as long as this process runs.
        unsafe { &*self.at }
    }

    /// The three lists: given, followed, outcomes.
    fn lists(&self) -> [&[AtomicU32]; 3] {
        let length = self.plan.schedule.steps.len();
        // SAFETY: the file is that long.
        [0, 1, 2].map(|list| unsafe {
            std::slice::from_raw_parts(self.at.add(1).cast::<AtomicU32>().add(list * length), length)
        })
    }

    /// Called now and then while the program runs.
    pub fn look(&mut self, child: i32) -> Verdict {
        self.outside.look(self.header(), child);
        if self.told || self.header().ended.load(Acquire) == 0 {
            return Verdict::GoOn;
        }
        self.told = true;
        let all = words::count(self.plan.schedule.steps.len() as u64, "step");
        match self.plan.then {
            Then::Hang => say(format_args!(
                "the schedule is at its end ({all}); the program waits: gdb -p {child} looks at it, Ctrl-C ends it"
            )),
            Then::Stop => return Verdict::Stop { pid: child, ended: Ended::Exit(0) },
            Then::Resume => say(format_args!("the schedule is at its end ({all}); the program goes on freely")),
        }
        Verdict::GoOn
    }

    /// Tells of threads that were outside just before the program ended.
    pub fn look_back(&mut self, symbols: &mut Symbols) {
        self.outside.tell(self.header(), symbols);
    }

    /// What came of it: the schedule followed is compared with the schedule given.
    pub fn compare(&self, session: &Mapped, symbols: &mut Symbols, take: &str) -> Result<()> {
        if let Some(text) = session.report() {
            return Err(Refused::parse(&text).failure(symbols, take));
        }
        let [given, followed, _] = self.lists();
        let done = (self.header().step.load(Acquire) as usize).min(given.len());
        for step in 0..done {
            let (given, followed) = (given[step].load(Relaxed), followed[step].load(Relaxed));
            // A thread that lent the baton may not have come to the end of its step.
            if given != followed && followed != NOBODY {
                let what = format!("step {} was to be of thread {given}, but thread {followed} ran", step + 1);
                return Err(Failure::own(what).next(format!("retake show {take}")));
            }
        }
        // The last step may end with the program instead of at a point.
        if done + 1 < given.len() {
            let what = format!("the program ended in step {} of {}", done + 1, given.len());
            return Err(Failure::new(Status::Infeasible, what).next(format!("retake schedule {take}")));
        }
        say(format_args!("followed all {}", words::count(given.len() as u64, "step")));
        Ok(())
    }
}

/// Why a schedule cannot be followed, as the program told it: lines `key=value`.
#[derive(Default)]
struct Refused {
    process: String,
    step: String,
    steps: String,
    due: String,
    came: String,
    why: String,
    object: Option<u64>,
    holders: Vec<String>,
    could: Vec<String>,
    pcs: Vec<u64>,
}

impl Refused {
    fn parse(text: &str) -> Refused {
        let mut refused = Refused::default();
        let hex = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok();
        for (key, value) in text.lines().filter_map(|line| line.split_once('=')) {
            let value: String = value.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
            match key {
                "process" => refused.process = value,
                "step" => refused.step = value,
                "steps" => refused.steps = value,
                "due" => refused.due = value,
                "came" => refused.came = value,
                "recorded" => refused.why = value,
                "object" => refused.object = hex(&value),
                "holder" => refused.holders.push(value),
                "could" => refused.could.push(value),
                "pcs" => refused.pcs = value.split(',').filter_map(hex).collect(),
                _ => {}
            }
        }
        for threads in [&mut refused.holders, &mut refused.could] {
            threads.sort_by_cached_key(|number| number.parse().unwrap_or(u32::MAX));
        }
        refused
    }

    fn failure(&self, symbols: &mut Symbols, take: &str) -> Failure {
        let mut text = format!(
            "the schedule cannot be followed: step {} of {} names thread {}, but {}",
            self.step, self.steps, self.due, self.why
        );
        if let Some(object) = self.object {
            let name = symbols.variable(&self.process, object).unwrap_or_else(|| format!("{object:#x}"));
            // A thread's handle says nothing; which thread it is follows.
            let name = if self.came == "join thread" { String::new() } else { format!(" {name}") };
            text += &format!(": {}{name}", self.came);
            if let Some(place) = symbols.first_known(&self.process, &self.pcs) {
                text += &format!(" at {place}");
            }
            if !self.holders.is_empty() {
                text += &format!(", which waits for thread {}", self.holders.join(", "));
            }
        }
        if self.object.is_none()
            && let Some(place) = symbols.first_known(&self.process, &self.pcs)
            && self.why.starts_with("it waits")
        {
            text += &format!(", at {place}");
        }
        text += &match &self.could[..] {
            [] => "; no thread could run".to_owned(),
            [only] => format!("; thread {only} could run"),
            all => format!("; threads {} could run", all.join(", ")),
        };
        Failure::new(Status::Infeasible, text)
            .next(format!("retake schedule {take}"))
            .next(format!("retake show {take}"))
    }
}
