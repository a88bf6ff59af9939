//! Small programs of threads with locks, conditions, semaphores and variables, run one step at a time by a chooser.
//!
//! Everything that can matter is a step with an object; what is between two steps happens with the first.

#![allow(dead_code)] // Each test binary uses its part.

use retake_explore::{Act, Choice, Chooser, NOBODY, Plan, Point, flag, of_thread};
use retake_tape::op::Op;

pub const REGISTERS: usize = 4;
pub type Registers = [i64; REGISTERS];

#[derive(Clone, Copy, Debug)]
pub enum Do {
    Lock(u32),
    Unlock(u32),
    /// Takes the lock if it is free; the register says whether.
    Try(u32, usize),
    /// Condition, mutex.
    Wait(u32, u32),
    /// As well, but may time out; the register says whether it did.
    TimedWait(u32, u32, usize),
    Signal(u32),
    Broadcast(u32),
    Take(u32),
    Post(u32),
    Load(u32, usize),
    Store(u32, usize),
    Create(u32),
    Join(u32),
    Yield,
    Exit,
    /// Not steps: they happen with the step before.
    Set(usize, i64),
    Add(usize, i64),
    /// Goes to that place if the register is zero, or is not.
    IfZero(usize, usize),
    IfSet(usize, usize),
    /// Fails unless the register has that value.
    Expect(usize, i64),
}
use Do::*;

#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The first is the main thread; those that nobody creates are there from the start.
    pub threads: Vec<Vec<Do>>,
    /// Semaphores and variables, if not zero.
    pub initial: Vec<(u32, i64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum End {
    Passed,
    Failed(u32),
    Deadlock,
    /// Too many steps.
    Endless,
}

#[derive(Clone, Debug)]
pub struct Outcome {
    pub end: End,
    pub log: Vec<Choice>,
    pub strayed: Option<u64>,
    /// Values of all objects at the end.
    pub values: Vec<i64>,
}

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Unborn,
    /// About to start: its first step.
    Starts,
    Runs,
    /// Begun to wait; woken or not.
    Waits(bool),
    /// Woken (or late), wants its mutex.
    Wants,
    Ended,
}

struct Thread<'a> {
    code: &'a [Do],
    at: usize,
    registers: Registers,
    phase: Phase,
}

const OBJECTS: usize = 32;
pub const STEPS_MAX: usize = 5000;

struct State<'a> {
    threads: Vec<Thread<'a>>,
    /// Locks: 0 free, else owner + 1. Semaphores, variables: their value.
    values: Vec<i64>,
    failed: Option<u32>,
    exited: bool,
}

impl<'a> State<'a> {
    fn new(program: &'a Program) -> State<'a> {
        let mut values = vec![0; OBJECTS];
        program.initial.iter().for_each(|(object, value)| values[*object as usize] = *value);
        let created: Vec<u32> = program
            .threads
            .iter()
            .flatten()
            .filter_map(|step| if let Create(t) = step { Some(*t) } else { None })
            .collect();
        let thread = |(number, code): (usize, &'a Vec<Do>)| {
            let phase = if created.contains(&(number as u32)) { Phase::Unborn } else { Phase::Starts };
            Thread { code, at: 0, registers: [0; REGISTERS], phase }
        };
        State { threads: program.threads.iter().enumerate().map(thread).collect(), values, failed: None, exited: false }
    }

    /// What is no step.
    fn run_on(&mut self, number: usize) {
        let thread = &mut self.threads[number];
        loop {
            let Some(step) = thread.code.get(thread.at) else {
                if thread.phase == Phase::Runs && self.failed.is_none() {
                    thread.phase = Phase::Ended;
                }
                return;
            };
            let r = &mut thread.registers;
            match *step {
                Set(register, value) => r[register] = value,
                Add(register, value) => r[register] += value,
                IfZero(register, to) if r[register] == 0 => {
                    thread.at = to;
                    continue;
                }
                IfSet(register, to) if r[register] != 0 => {
                    thread.at = to;
                    continue;
                }
                IfZero(..) | IfSet(..) => {}
                Expect(register, value) => {
                    if r[register] != value {
                        self.failed = Some(number as u32);
                        return;
                    }
                }
                _ => return,
            }
            thread.at += 1;
        }
    }

    fn act(&self, number: usize) -> Option<(Act, bool)> {
        let thread = &self.threads[number];
        let act = |op: Op, object: u32, other: u32| Act {
            thread: number as u32,
            object: object + u32::from(object < 100),
            other: if other == u32::MAX { 0 } else { other + 1 },
            op: op as u16,
            flags: 0,
        };
        let one = |op: Op, object: u32| act(op, object, u32::MAX);
        let free = |m: u32| self.values[m as usize] == 0;
        if matches!(thread.phase, Phase::Unborn | Phase::Ended) {
            return None;
        }
        if thread.phase == Phase::Starts {
            return Some((one(Op::ThreadStart, of_thread(number as u32)), true));
        }
        let step = *thread.code.get(thread.at)?;
        Some(match (step, thread.phase) {
            (Wait(c, m), Phase::Waits(woken)) => (act(Op::CondWait, c, m), woken && free(m)),
            (TimedWait(c, m, _), Phase::Waits(woken)) => {
                let late = if woken && free(m) { 0 } else { flag::TIMES_OUT };
                (Act { flags: late, ..act(Op::CondTimed, c, m) }, true)
            }
            (Wait(_, m) | TimedWait(_, m, _), Phase::Wants) => (one(Op::MutexLock, m), free(m)),
            (Wait(c, m) | TimedWait(c, m, _), _) => (act(Op::MutexUnlock, m, c), true),
            (Lock(m), _) => (one(Op::MutexLock, m), free(m)),
            (Unlock(m), _) => (one(Op::MutexUnlock, m), true),
            (Try(m, _), _) => (one(Op::MutexTry, m), true),
            (Signal(c), _) => (one(Op::CondSignal, c), true),
            (Broadcast(c), _) => (one(Op::CondBroadcast, c), true),
            (Take(s), _) => (one(Op::SemWait, s), self.values[s as usize] > 0),
            (Post(s), _) => (one(Op::SemPost, s), true),
            (Load(v, _), _) => (one(Op::SemValue, v), true),
            (Store(v, _), _) => (one(Op::Misc, v), true),
            (Create(t), _) => (one(Op::ThreadCreate, of_thread(t)), true),
            (Join(t), _) => (one(Op::ThreadJoin, of_thread(t)), self.threads[t as usize].phase == Phase::Ended),
            (Yield, _) => (Act { flags: flag::YIELDS, ..Act { object: 0, ..one(Op::Sleep, 100) } }, true),
            (Exit, _) => (Act { object: 0, ..one(Op::Exit, 100) }, true),
            _ => return None,
        })
    }

    fn wake(&mut self, condition: u32, all: bool) {
        for thread in &mut self.threads {
            let waits = matches!(thread.code.get(thread.at), Some(Wait(c, _) | TimedWait(c, _, _)) if *c == condition);
            if waits && thread.phase == Phase::Waits(false) {
                thread.phase = Phase::Waits(true);
                if !all {
                    return;
                }
            }
        }
    }

    fn step(&mut self, number: usize) {
        let thread = &mut self.threads[number];
        if thread.phase == Phase::Starts {
            thread.phase = Phase::Runs;
            return self.run_on(number);
        }
        let step = thread.code[thread.at];
        let mine = number as i64 + 1;
        match (step, thread.phase) {
            (Wait(_, m) | TimedWait(_, m, _), Phase::Waits(woken)) => {
                if let TimedWait(_, _, register) = step {
                    thread.registers[register] = i64::from(!woken);
                }
                if self.values[m as usize] != 0 {
                    return thread.phase = Phase::Wants;
                }
                self.values[m as usize] = mine;
                thread.phase = Phase::Runs;
            }
            (Wait(_, m) | TimedWait(_, m, _), Phase::Wants) => {
                self.values[m as usize] = mine;
                thread.phase = Phase::Runs;
            }
            (Wait(_, m) | TimedWait(_, m, _), _) => {
                self.values[m as usize] = 0;
                return thread.phase = Phase::Waits(false);
            }
            (Lock(m), _) => self.values[m as usize] = mine,
            (Unlock(m), _) => self.values[m as usize] = 0,
            (Try(m, register), _) => {
                let free = self.values[m as usize] == 0;
                thread.registers[register] = i64::from(free);
                if free {
                    self.values[m as usize] = mine;
                }
            }
            (Take(s), _) => self.values[s as usize] -= 1,
            (Post(s), _) => self.values[s as usize] += 1,
            (Load(v, register), _) => thread.registers[register] = self.values[v as usize],
            (Store(v, register), _) => self.values[v as usize] = thread.registers[register],
            (Signal(c), _) => self.wake(c, false),
            (Broadcast(c), _) => self.wake(c, true),
            (Create(t), _) => self.threads[t as usize].phase = Phase::Starts,
            (Exit, _) => self.exited = true,
            _ => {}
        }
        self.threads[number].at += 1;
        self.run_on(number);
    }
}

/// Runs the program with these choices.
pub fn run(program: &Program, plan: &Plan, prefix: &[u16]) -> Outcome {
    let mut chooser = Chooser::new(plan, prefix);
    let mut strayed = None;
    let mut outcome = drive(program, |point| {
        let index = chooser.choose(point);
        strayed = chooser.strayed();
        (index, chooser.log(point, index))
    });
    outcome.strayed = strayed;
    outcome
}

/// Runs the program; `choose` says who goes on.
pub fn drive(program: &Program, mut choose: impl FnMut(&Point) -> (usize, Choice)) -> Outcome {
    let mut state = State::new(program);
    let (mut log, mut current) = (Vec::new(), NOBODY);
    let end = loop {
        if let Some(failed) = state.failed {
            break End::Failed(failed);
        }
        let acts: Vec<(Act, bool)> = (0..state.threads.len()).filter_map(|number| state.act(number)).collect();
        if acts.is_empty() || state.exited {
            break End::Passed;
        }
        let able: Vec<Act> = acts.iter().filter(|(_, can)| *can).map(|(act, _)| *act).collect();
        if log.len() == STEPS_MAX {
            break End::Endless;
        }
        let arrived = acts.iter().find(|(act, _)| act.thread == current).map_or(Act::NONE, |(act, _)| *act);
        let point = Point { step: log.len() as u64, arrived, current, able: &able };
        if able.is_empty() {
            log.push(Choice::of(&point, 0));
            break End::Deadlock;
        }
        let (index, choice) = choose(&point);
        log.push(choice);
        current = able[index].thread;
        state.step(current as usize);
    };
    Outcome { end, log, strayed: None, values: state.values }
}

/// Every interleaving, in the order of the choices.
pub fn brute_force(program: &Program, mut each: impl FnMut(&Outcome)) -> u64 {
    let (mut prefix, mut count) = (Vec::new(), 0);
    loop {
        // At each step: which of how many was taken.
        let mut taken: Vec<(usize, usize)> = Vec::new();
        let outcome = drive(program, |point| {
            let index = prefix.get(taken.len()).copied().unwrap_or(0);
            taken.push((index, point.able.len()));
            (index, Choice::of(point, index))
        });
        each(&outcome);
        count += 1;
        while taken.last().is_some_and(|(index, of)| index + 1 == *of) {
            taken.pop();
        }
        let Some((last, _)) = taken.pop() else { return count };
        prefix = taken.iter().map(|(index, _)| *index).collect();
        prefix.push(last + 1);
    }
}

/// The choices of a log as a prefix.
pub fn choices(log: &[Choice]) -> Vec<u16> {
    log.iter().map(|choice| choice.chosen.thread as u16).collect()
}
