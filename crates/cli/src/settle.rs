//! `retake settle`: looks for an order of threads in which the races of a take go as they went, and keeps it.
//!
//! A tape says nothing of what threads do to plain memory, so a replay of a program with a race goes right only now and
//! then. Here it is tried again and again, with one thread at a time: what is tried is then the same whenever the same
//! choices are made, and a replay that went wrong tells how far they were good. The next try keeps most of them, and makes
//! another one not long before it went wrong: races show soon. What was found is kept in the take, as text, and every
//! replay follows it.
//!
//! What an order cannot give back is a race inside of code between two points of a thread: two that read a word, and only then
//! both write it.

use crate::facts::{Ended, TapeFacts};
use crate::launch::{self, Verdict};
use crate::replay::{Output, Player, require_trust};
use crate::report::Report;
use crate::session::create_map;
use crate::status::{Context, Failure, Result, Status, say};
use crate::store::Store;
use crate::take::{Take, TempDir};
use crate::{Ending, words};
use retake_tape::settled::{FILE, Header, MAGIC, NAME_MAX, OTHERS, size};
use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub struct Args {
    /// Which take: a name, a unique prefix, a directory, a packed file
    #[arg(default_value = "latest")]
    take: String,
    /// Give up after so many replays
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..))]
    tries: u32,
    /// Give up after so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    seconds: u64,
    /// The process whose threads race, if not the busiest one
    #[arg(long, value_name = "NAME")]
    process: Option<String>,
    /// Tell how far each replay came
    #[arg(short, long)]
    verbose: bool,
    /// Look for an order though the take has one, or forget the one that it has if none is found
    #[arg(long)]
    anew: bool,
    /// Run the command of a take that was not recorded here
    #[arg(long)]
    trust: bool,
}

/// Choices that an order may have.
const CHOICES_MAX: usize = 1 << 22;
/// After so many tries in a row that came no further, it is begun anew: an early choice may be wrong without showing.
const FAILS: u32 = 40;
/// How long nobody may move in a try.
const PATIENCE_MS: u32 = 2000;
/// An order is kept if so many replays in a row follow it.
const SURE: u32 = 3;

/// The threads of one process, one at a time: which one goes on, at each point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    pub process: String,
    pub choices: Vec<u32>,
}

impl Order {
    /// The order that is kept in the take at `dir`, if there is one.
    pub fn load(dir: &Path) -> Result<Option<Order>> {
        let path = dir.join(FILE);
        if !path.exists() {
            return Ok(None);
        }
        let words = || format!("cannot read {}", path.display());
        let text = fs::read_to_string(&path).because(words)?;
        let damaged = || Failure::own(format!("{} is damaged", path.display())).next("retake settle --anew");
        Order::parse(&text).map(Some).ok_or_else(damaged)
    }

    fn parse(text: &str) -> Option<Order> {
        let (process, choices) = text.strip_prefix("process ")?.split_once("\nthreads")?;
        let mut order = Order { process: process.to_owned(), choices: Vec::new() };
        for word in choices.split_ascii_whitespace() {
            let (thread, times) = word.split_once('x').unwrap_or((word, "1"));
            let (thread, times) = (thread.parse::<u32>().ok()?, times.parse::<usize>().ok()?);
            if thread & OTHERS != 0 || times > CHOICES_MAX - order.choices.len() {
                return None;
            }
            order.choices.extend(std::iter::repeat_n(thread, times));
        }
        (order.process.len() <= NAME_MAX && text.ends_with('\n')).then_some(order)
    }

    fn text(&self) -> String {
        let mut text = format!("process {}\nthreads", self.process);
        for same in self.choices.chunk_by(|one, two| one == two) {
            let times = if same.len() > 1 { format!("x{}", same.len()) } else { String::new() };
            text.push_str(&format!(" {}{times}", same[0]));
        }
        text.push('\n');
        text
    }

    fn keep(&self, dir: &Path) -> Result<()> {
        let words = || format!("cannot write into {}", dir.display());
        let fresh = dir.join(format!(".{FILE}"));
        fs::write(&fresh, self.text()).and_then(|()| fs::rename(&fresh, dir.join(FILE))).because(words)
    }
}

/// How a replay runs one thread at a time.
#[derive(Clone, Debug)]
pub struct Way {
    pub order: Order,
    /// Choices that there is room for, and how they are drawn: see [`Header`].
    room: usize,
    seed: u64,
    switch: u32,
    avoid: u32,
}

impl From<Order> for Way {
    fn from(order: Order) -> Way {
        Way { room: order.choices.len() + 1024, order, seed: 1, switch: u32::MAX, avoid: 0 }
    }
}

/// The file by which a replay is told of its way, mapped.
pub struct Told {
    at: *mut Header,
    room: usize,
}

impl Way {
    /// Tells the replay whose session lies in `place`.
    pub fn tell(&self, place: &Path) -> Result<Told> {
        let (at, _) = create_map(&place.join(FILE), size(self.room))?;
        let told = Told { at: at.cast(), room: self.room };
        let name = self.order.process.as_bytes();
        // SAFETY: the map is that long and nobody else has it yet.
        unsafe {
            let header = &mut *told.at;
            header.name[..name.len()].copy_from_slice(name);
            (header.name_len, header.switch, header.avoid) = (name.len() as u32, self.switch, self.avoid);
            (header.given, header.room, header.seed) = (self.order.choices.len() as u64, self.room as u64, self.seed);
            let to = told.at.add(1).cast::<u32>();
            to.copy_from_nonoverlapping(self.order.choices.as_ptr(), self.order.choices.len());
            header.magic = MAGIC;
        }
        Ok(told)
    }
}

impl Told {
    fn header(&self) -> &Header {
        // SAFETY: mapped as long as this lives; what others write are atomics.
        unsafe { &*self.at }
    }

    /// The choices that were made, as far as there was room.
    fn choices(&self) -> &[u32] {
        let made = (self.header().choices.load(Relaxed) as usize).min(self.room);
        // SAFETY: so many words lie behind the header; the replay is over.
        unsafe { std::slice::from_raw_parts(self.at.add(1).cast(), made) }
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        // SAFETY: made by mmap with this size.
        unsafe { libc::munmap(self.at.cast(), size(self.room)) };
    }
}

/// What a try came to.
#[derive(Clone)]
struct Tried {
    went_well: bool,
    events: u64,
    /// With a mark where others could have gone on.
    choices: Vec<u32>,
    /// There was room for all of them.
    is_whole: bool,
    left: u32,
    /// Why it did not go well.
    why: String,
}

pub fn main(args: Args) -> Result<Ending> {
    let store = Store::open()?;
    let take = store.take(&args.take)?;
    let label = take.label();
    if !args.trust {
        let remedies = |label: &str| [format!("retake settle --trust {label}"), format!("retake show --light {label}")];
        require_trust(&store, &take, remedies)?;
    }
    if args.anew {
        let _ = fs::remove_file(take.dir.join(FILE));
    }
    let process = busiest(&take, args.process.as_deref())?.clone();
    let mut player = Player::new(take)?;
    player.silent = true;
    player.patience_ms = PATIENCE_MS;
    if player.way.take().is_some() {
        say(format_args!("{label} has an order already"));
        say(format_args!("next: retake replay {label} · retake settle --anew {label}"));
        return Ok(Ending::Status(Status::Fine));
    }
    let mut search = Search::new(&player, process, args.seconds);
    search.verbose = args.verbose;
    let Some(order) = search.run(args.tries)? else { return Err(search.gives_up(&label)) };
    order.keep(&player.take.dir)?;
    let tries = words::count(search.tries.into(), "replay");
    say(format_args!(
        "{label}: after {tries}, an order in which its races go as they went; replays follow it, one thread at a time"
    ));
    say(format_args!("next: retake replay {label}"));
    Ok(Ending::Status(Status::Fine))
}

/// The process that is called `name`, or the one in which several threads do the most.
fn busiest<'a>(take: &'a Take, name: Option<&str>) -> Result<&'a TapeFacts> {
    let tapes = take.facts.tapes.iter();
    let found = match name {
        Some(name) => tapes.clone().find(|tape| tape.process == name),
        None => tapes.clone().filter(|tape| tape.threads > 1).max_by_key(|tape| tape.events),
    };
    let none = || match name {
        Some(name) => Failure::own(format!("{} has no process {name}", take.label())).next("retake info"),
        None => Failure::own(format!("no process of {} has more than one thread", take.label())).next("retake info"),
    };
    found.ok_or_else(none)
}

struct Search<'a> {
    player: &'a Player,
    process: TapeFacts,
    until: Instant,
    /// The longest that one replay may take.
    each: Duration,
    tries: u32,
    random: u64,
    /// What the next try begins with, and the try that came furthest of all.
    now: Option<Tried>,
    best: Option<Tried>,
    verbose: bool,
}

impl Search<'_> {
    fn new(player: &Player, process: TapeFacts, seconds: u64) -> Search<'_> {
        let recorded = Duration::from_millis(player.take.facts.duration_ms.unwrap_or(0));
        let each = Duration::from_secs(10) + 3 * recorded;
        let until = Instant::now() + Duration::from_secs(seconds);
        Search {
            player,
            process,
            until,
            each,
            tries: 0,
            random: 0x9E37_79B9_7F4A_7C15,
            now: None,
            best: None,
            verbose: false,
        }
    }

    fn run(&mut self, tries: u32) -> Result<Option<Order>> {
        let mut fails = 0;
        while self.tries < tries && Instant::now() < self.until {
            let way = self.next();
            let tried = self.attempt(&way)?;
            self.tries += 1;
            if self.verbose {
                let (given, made) = (way.order.choices.len(), tried.choices.len());
                let which = format!("try {}: event {} of {}", self.tries, tried.events, self.process.events);
                say(format_args!(
                    "{which}; {made} choices, {given} of them given, one in {} drawn; {}",
                    way.switch, tried.why
                ));
            }
            self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(self.tries.into());
            if tried.went_well {
                if let Some(order) = self.confirm(&tried)? {
                    return Ok(Some(order));
                }
                continue;
            }
            let than = |other: &Option<Tried>| {
                other.as_ref().map_or(std::cmp::Ordering::Greater, |other| tried.events.cmp(&other.events))
            };
            fails = if than(&self.now).is_gt() { 0 } else { fails + 1 };
            if than(&self.best).is_gt() {
                self.best = Some(tried.clone());
            }
            if fails == FAILS {
                (self.now, fails) = (None, 0);
            } else if than(&self.now).is_ge() {
                self.now = Some(tried);
            }
        }
        Ok(None)
    }

    /// What to try next.
    fn next(&self) -> Way {
        let process = self.process.process.clone();
        let room = (16 * self.process.events as usize + 65536).min(CHOICES_MAX);
        let draw = |limit: usize, salt: u32| (self.random.rotate_left(salt) >> 20) as usize % limit.max(1);
        let switch = 2 << (2 * draw(4, 7));
        let mut way = Way { order: Order { process, choices: Vec::new() }, room, seed: self.random, switch, avoid: 0 };
        let Some(now) = &self.now else { return way };
        let open: Vec<usize> = (0..now.choices.len()).filter(|at| now.choices[*at] & OTHERS != 0).collect();
        // As often one of the last two as one of the last two hundred: races show soon, but not always.
        let back = 1 + draw(2 << draw(1 + open.len().max(1).ilog2() as usize, 41), 29);
        if let Some(at) = open.len().checked_sub(back).map(|at| open[at]) {
            way.order.choices.extend(now.choices[..at].iter().map(|choice| choice & !OTHERS));
            way.avoid = now.choices[at] & !OTHERS;
        }
        way
    }

    fn attempt(&self, way: &Way) -> Result<Tried> {
        let place = TempDir::new()?;
        let nowhere = Output::null()?;
        let mut scene = self.player.scene_by(place.path(), Some(&nowhere), Some(way))?;
        let relay = std::mem::take(&mut scene.relay).start();
        let started = Instant::now();
        let ran = launch::run(&scene.launch, &scene.session, &mut |_| {
            if started.elapsed() > self.each { Verdict::StopAll } else { Verdict::GoOn }
        })?;
        relay.finish();
        if let Some(signal) = launch::asked_to_end() {
            launch::end_as(Ended::Signal(signal));
        }
        let told = scene.told.take();
        let told = told.as_ref().ok_or_else(|| Failure::own("the replay was not told its order"))?;
        let recorded = self.player.recorded_end();
        let same_end = recorded.is_none_or(|recorded| recorded == ran.ended);
        let why = match scene.session.report().map(|text| Report::parse(&text)) {
            Some(report) if report.is_stuck() => "stuck".to_owned(),
            Some(report) => format!("diverged in thread {} at event {}", report.thread, report.event),
            None if ran.stopped => "took too long".to_owned(),
            None => format!("ended with {}", ran.ended.words()),
        };
        Ok(Tried {
            why,
            went_well: scene.session.report().is_none() && same_end && !ran.stopped,
            events: told.header().events.load(Relaxed),
            choices: told.choices().to_vec(),
            is_whole: told.header().choices.load(Relaxed) <= told.room as u64,
            left: told.header().left.load(Relaxed),
        })
    }

    /// The order of a try that went well, if replays that follow it do, too.
    fn confirm(&self, tried: &Tried) -> Result<Option<Order>> {
        let choices = tried.choices.iter().map(|choice| choice & !OTHERS).collect::<Vec<_>>();
        if !tried.is_whole {
            return Err(Failure::own("the order has too many choices to be kept"));
        }
        let order = Order { process: self.process.process.clone(), choices };
        for _ in 0..SURE {
            if !self.attempt(&Way::from(order.clone()))?.went_well {
                return Ok(None);
            }
        }
        Ok(Some(order))
    }

    fn gives_up(&self, label: &str) -> Failure {
        let tries = words::count(self.tries.into(), "replay");
        let of = self.process.events;
        let (events, left) = self.best.as_ref().map_or((0, 0), |best| (best.events.min(of), best.left));
        let outside = if left > 0 { "; threads waited or spun where Retake does not see it" } else { "" };
        let what = format!("{label}: no order found in {tries}; the best came to event {events} of {of}{outside}");
        Failure::new(Status::Diverged, what)
            .next(format!("retake settle --tries {} --seconds 3600 {label}", self.tries.saturating_mul(10)))
            .next("a build with -fsanitize=thread, which finds the race")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_read_as_it_was_written() {
        let order = Order { process: "0.1".into(), choices: vec![1, 1, 1, 2, 1, 3, 3] };
        assert_eq!(order.text(), "process 0.1\nthreads 1x3 2 1 3x2\n");
        assert_eq!(Order::parse(&order.text()), Some(order));
    }

    #[test]
    fn a_strangers_order_is_refused() {
        for text in
            ["", "process 0\n", "process 0\nthreads 1x\n", "process 0\nthreads 1x99999999\n", "process 0\nthreads -1\n"]
        {
            assert_eq!(Order::parse(text), None, "{text:?}");
        }
        assert_eq!(Order::parse("process 0\nthreads 1 2"), None, "cut off");
    }
}
