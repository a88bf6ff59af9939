//! Small histories written as words, and what is found in them: each finding, and what only looks like it.

use super::*;
use crate::deed::RAN;
use crate::walk::Who;
use retake_tape::op::Op;
use retake_tape::rich::{PCS, Rich, WAITS};
use std::fmt::Write;

/// `THREAD OP OBJECT`, one a line or behind semicolons; `OP!` was wanted and never obtained. Threads are numbered from 0,
/// objects are letters; creating and joining have a thread for object. All threads are of one process.
fn notes(script: &str) -> (Vec<Who>, Vec<Note>) {
    let mut all: Vec<Note> = Vec::new();
    let mut versions = std::collections::HashMap::new();
    let mut threads = 1;
    for words in script.split(['\n', ';']).map(str::trim).filter(|line| !line.is_empty()) {
        let mut words = words.split_whitespace();
        let thread: usize = words.next().unwrap().parse().unwrap();
        let (word, object) = (words.next().unwrap(), words.next().unwrap_or("0"));
        let (word, result) = word.strip_suffix('!').map_or((word, 0), |word| (word, WAITS));
        let result = if word == "runs" { RAN } else { result };
        let op = match word {
            "lock" => Op::MutexLock,
            "try" => Op::MutexTry,
            "unlock" => Op::MutexUnlock,
            "init" => Op::MutexInit,
            "read" => Op::RwRead,
            "write" => Op::RwWrite,
            "done" => Op::RwUnlock,
            "wait" => Op::CondWait,
            "signal" => Op::CondSignal,
            "post" => Op::SemPost,
            "down" => Op::SemWait,
            "meet" => Op::Barrier,
            "once" | "runs" => Op::Once,
            "ran" => Op::OnceEnd,
            "create" => Op::ThreadCreate,
            "start" => Op::ThreadStart,
            "end" => Op::ThreadEnd,
            "join" => Op::ThreadJoin,
            other => panic!("{other}"),
        };
        let number = object.parse::<u64>().map_or(u64::from(object.as_bytes()[0]), |thread| thread + 1000);
        let version = match op {
            Op::MutexLock | Op::MutexTry if result == 0 => {
                let version = versions.entry(number).or_insert(0u64);
                *version += 1;
                *version
            }
            Op::MutexInit => {
                versions.remove(&number);
                0
            }
            Op::ThreadCreate => number,
            Op::ThreadStart => 1000 + thread as u64,
            _ => 0,
        };
        let sequence = all.len() as u64;
        let mut pcs = [0; PCS];
        pcs[0] = 10 * number + thread as u64;
        threads = threads.max(thread + 1);
        let rich = Rich { sequence, op, event: 0, object: number, version, result, message: None, pcs };
        if let Some(last) = all.iter_mut().rfind(|note| note.thread == thread) {
            last.next = Some((op, number));
        }
        all.push(Note { thread, rich, next: None });
    }
    let who = |at: usize| Who { process: 0, number: 1000 + at as u64, is_gone: false };
    ((0..threads).map(who).collect(), all)
}

/// The findings in a line each, with the marked notes as `THREAD@SEQUENCE`.
fn found(script: &str) -> String {
    let (who, notes) = notes(script);
    let checked = check_notes(&who, || notes.iter().copied());
    let mark = |mark: &Mark| format!("{}@{}", mark.thread, mark.sequence);
    let waiter = |waiter: &Waiter| {
        let behind = waiter.behind.iter().map(|obstacle| match obstacle {
            Obstacle::Holder { taken, ended } => format!("<{}{}", mark(taken), if *ended { "+" } else { "" }),
            Obstacle::Joined { thread } => format!("<{thread}"),
        });
        mark(&waiter.wants) + &behind.collect::<String>()
    };
    let many = |all: &[Waiter]| all.iter().map(waiter).collect::<Vec<_>>().join(" ");
    let mut text = String::new();
    for finding in &checked.findings {
        let _ = match finding {
            Finding::Deadlock { circle, behind } => writeln!(text, "deadlock {} / {}", many(circle), many(behind)),
            Finding::LostWakeUp { waiter: who, signal, behind } => {
                writeln!(text, "lost {} {} / {}", mark(signal), waiter(who), many(behind))
            }
            Finding::WaitsForEver { waiters, behind } => writeln!(text, "waits {} / {}", many(waiters), many(behind)),
            Finding::ForeignUnlock { unlock, taken, alike } => {
                writeln!(text, "foreign {} {} {alike}", mark(unlock), mark(taken))
            }
            Finding::LockOrder { links, alike } => {
                let links: Vec<_> = links.iter().map(|link| mark(&link.outer) + ">" + &mark(&link.inner)).collect();
                writeln!(text, "order {} {alike}", links.join(" "))
            }
        };
    }
    text
}

/// Locks `locks` in this order and unlocks them again.
fn takes(thread: usize, locks: &str) -> String {
    let lock: String = locks.chars().map(|lock| format!("{thread} lock {lock}\n")).collect();
    let unlock: String = locks.chars().rev().map(|lock| format!("{thread} unlock {lock}\n")).collect();
    lock + &unlock
}

#[test]
fn two_orders_are_an_inversion() {
    assert_eq!(found(&(takes(1, "ab") + &takes(2, "ba"))), "order 1@0>1@1 2@4>2@5 0\n");
    assert_eq!(found(&(takes(1, "ab") + &takes(2, "ab"))), "");
}

#[test]
fn a_circle_may_have_any_length() {
    let circle = takes(1, "ab") + &takes(2, "bc") + &takes(3, "cd") + &takes(4, "da");
    assert!(found(&circle).starts_with("order 1@"), "{}", found(&circle));
    assert_eq!(found(&circle).lines().count(), 1);
    assert_eq!(found(&(takes(1, "ab") + &takes(2, "bc") + &takes(3, "cd") + &takes(4, "ad"))), "");
    // The locks in between do not matter.
    assert!(found(&(takes(1, "axb") + &takes(2, "bya"))).starts_with("order 1@0>1@2 2@6>2@8 0\n"));
}

#[test]
fn one_thread_waits_for_nobody() {
    assert_eq!(found(&(takes(1, "ab") + &takes(1, "ba"))), "");
    // Three sides, two of them of one thread.
    assert_eq!(found(&(takes(1, "ab") + &takes(2, "bc") + &takes(1, "ca"))), "");
}

#[test]
fn a_gate_lets_only_one_in() {
    assert_eq!(found(&(takes(1, "gab") + &takes(2, "gba"))), "");
    // A gate that one of them does not pass is none.
    assert!(found(&(takes(1, "gab") + &takes(2, "ba"))).starts_with("order"));
    // Readers pass a gate together.
    let reader = |thread: usize, locks: &str| format!("{thread} read g\n{}{thread} done g\n", takes(thread, locks));
    assert!(found(&(reader(1, "ab") + &reader(2, "ba"))).starts_with("order"));
}

#[test]
fn who_came_after_the_other_ended_is_no_danger() {
    let ordered =
        |between: &str| format!("0 create 1\n1 start\n{}1 end\n{between}\n{}", takes(1, "ab"), takes(2, "ba"));
    assert_eq!(found(&ordered("0 join 1; 0 create 2; 2 start")), "");
    assert!(found(&ordered("0 create 2; 2 start; 0 join 1")).starts_with("order"));
    // The creator before it created.
    assert_eq!(found(&(takes(0, "ab") + "0 create 1\n1 start\n" + &takes(1, "ba"))), "");
    assert!(found(&("0 create 1\n1 start\n".to_owned() + &takes(0, "ab") + &takes(1, "ba"))).starts_with("order"));
}

#[test]
fn semaphores_and_conditions_that_hand_on_make_an_order() {
    assert_eq!(found(&(takes(1, "ab") + "1 post s\n2 down s\n" + &takes(2, "ba"))), "");
    // As a lock it does not.
    let lock = "1 down s; 1 post s\n2 down s; 2 post s\n";
    assert!(found(&(takes(1, "ab") + lock + &takes(2, "ba"))).starts_with("order"));
    let wait = "2 lock m; 2 unlock m; 1 lock m; 1 signal c; 1 unlock m; 2 wait c; 2 unlock m\n";
    assert_eq!(found(&(takes(1, "ab") + wait + &takes(2, "ba"))), "");
    // A signal that nobody waits for orders nothing.
    assert!(found(&(takes(1, "ab") + "1 signal c\n" + &takes(2, "ba"))).starts_with("order"));
}

#[test]
fn a_barrier_between_them_makes_an_order() {
    let both = |between: &str| found(&(takes(1, "ab") + "2 lock x\n2 unlock x\n" + between + &takes(2, "ba")));
    assert_eq!(both("1 meet z; 2 meet z\n"), "");
    assert_eq!(both("2 meet z; 1 meet z\n"), "");
    assert_eq!(both("2 meet z; 1 meet z; 1 meet z; 2 meet z\n"), "");
    assert!(both("1 meet z; 3 meet z\n").starts_with("order"), "another's barrier");
    let after = takes(1, "x") + &takes(2, "x") + "2 meet z; 1 meet z\n" + &takes(1, "ab") + &takes(2, "ba");
    assert!(found(&after).starts_with("order"), "both behind it");
}

/// A million notes in a row, kept nowhere; two of them at the very end make the circle.
#[test]
fn a_long_history_is_walked_not_kept() {
    let who: Vec<Who> = (0..3).map(|at| Who { process: 0, number: at, is_gone: false }).collect();
    let note = |sequence: u64, thread: usize, op: Op, object: u64| {
        let rich = Rich { sequence, op, event: 0, object, version: 0, result: 0, message: None, pcs: [object; PCS] };
        Note { thread, rich, next: None }
    };
    let script = [(Op::MutexLock, 1), (Op::MutexLock, 2), (Op::MutexUnlock, 2), (Op::MutexUnlock, 1)];
    let many = 250_000;
    let notes = || {
        (0..4 * many).map(|at| {
            let (round, step) = (at / 4, at % 4);
            let (op, object) = script[step];
            // A new inner lock every other round; the last one is held first, by the other thread.
            let (outer, inner) = if round == many - 1 { (10 + round as u64 - 1, 1) } else { (1, 10 + round as u64) };
            note(at as u64, 1 + round % 2, op, if object == 1 { outer } else { inner })
        })
    };
    let checked = check_notes(&who, notes);
    assert!(matches!(&checked.findings[..], [Finding::LockOrder { alike: 0, .. }]), "{:?}", checked.findings.len());
}

#[test]
fn who_only_tries_does_not_wait() {
    let tries = "2 lock b; 2 try a; 2 unlock a; 2 unlock b\n";
    assert_eq!(found(&(takes(1, "ab") + tries)), "");
    // What was obtained by trying is held.
    let tries = "2 try b; 2 lock a; 2 unlock a; 2 unlock b\n";
    assert!(found(&(takes(1, "ab") + tries)).starts_with("order"));
}

#[test]
fn two_readers_do_not_block() {
    let side = |thread: usize, how: [&str; 2], locks: [&str; 2]| {
        let (a, b) = (locks[0], locks[1]);
        format!("{thread} {} {a}; {thread} {} {b}; {thread} done {b}; {thread} done {a}\n", how[0], how[1])
    };
    let read = side(1, ["read", "read"], ["a", "b"]);
    assert_eq!(found(&(read.clone() + &side(2, ["read", "read"], ["b", "a"]))), "");
    assert_eq!(found(&(read.clone() + &side(2, ["write", "read"], ["b", "a"]))), "", "the other meeting is of readers");
    assert!(found(&(read + &side(2, ["write", "write"], ["b", "a"]))).starts_with("order"));
}

#[test]
fn a_new_mutex_at_an_old_place_is_another() {
    assert_eq!(found(&(takes(1, "ab") + "0 init a\n" + &takes(2, "ba"))), "");
}

#[test]
fn a_mutex_locked_again_by_a_wait_counts() {
    // 1 waits with m while it holds x; 2 takes m and then x.
    let wait = "1 lock m; 1 lock x; 1 unlock m; 1 wait c; 1 unlock m; 1 unlock x\n";
    assert_eq!(found(&(wait.to_owned() + &takes(2, "mx"))), "order 1@1>1@2 2@6>2@7 0\n");
}

#[test]
fn circles_of_the_same_lines_are_one_finding() {
    // The lines of the script are the thread and the lock: give each thread the same lines for all locks.
    let (who, mut all) = notes(&(takes(1, "ab") + &takes(1, "bc") + &takes(2, "ba") + &takes(2, "cb")));
    all.iter_mut().for_each(|note| note.rich.pcs[0] = note.thread as u64);
    let checked = check_notes(&who, || all.iter().copied());
    assert!(matches!(&checked.findings[..], [Finding::LockOrder { alike: 1, .. }]), "{checked:?}");
}

#[test]
fn many_circles_are_given_up_and_said() {
    // Everybody takes every pair of many locks in both orders, each at its own line.
    let letters: Vec<char> = ('a'..='z').collect();
    let mut script = String::new();
    for thread in 1..40 {
        for (one, two) in letters.iter().zip(&letters[1..]).chain(letters.iter().zip(&letters[3..])) {
            script += &takes(thread, &format!("{one}{two}"));
            script += &takes(thread, &format!("{two}{one}"));
        }
    }
    let (who, all) = notes(&script);
    let checked = check_notes(&who, || all.iter().copied());
    assert!(checked.is_cut && !checked.findings.is_empty());
}

#[test]
fn a_circle_that_closed_is_a_deadlock() {
    let script = "0 create 1; 1 start; 0 create 2; 2 start\n1 lock a; 2 lock b; 1 lock! b; 2 lock! a; 0 join! 1";
    assert_eq!(found(script), "deadlock 1@6<2@5 2@7<1@4 / 0@8<1\n");
    // Not if one of them can still go on.
    assert_eq!(found("1 lock a; 2 lock b; 1 lock! b; 2 post s"), "");
    assert_eq!(found("1 lock a; 1 lock! a"), "deadlock 1@1<1@0 / \n");
    assert_eq!(found("0 create 1; 1 start; 0 lock a; 1 lock! a; 0 join! 1"), "deadlock 0@4<1 1@3<0@2 / \n");
}

#[test]
fn a_writer_waits_for_every_reader() {
    assert_eq!(found("1 read a; 2 read b; 1 write! b; 2 write! a"), "deadlock 1@2<2@1 2@3<1@0 / \n");
    assert_eq!(found("1 read a; 2 read b; 1 read! b; 2 read! a"), "", "readers let each other in");
}

#[test]
fn a_lock_of_an_ended_thread_is_never_free() {
    assert_eq!(found("1 start; 1 lock a; 1 end; 2 lock! a"), "waits 2@3<1@1+ / \n");
}

#[test]
fn a_wait_that_anybody_could_end_is_no_finding() {
    assert_eq!(found("1 lock m; 1 unlock m; 1 wait! c; 2 post s"), "");
    assert_eq!(found("1 lock m; 1 unlock m; 1 wait! c; 0 post s; 0 down! s"), "waits 1@2 / \nwaits 0@4 / \n");
    assert_eq!(
        found("1 start; 1 lock m; 1 unlock m; 1 wait! c; 0 down! s; 2 start; 2 end"),
        "waits 1@3 / \nwaits 0@4 / \n"
    );
}

#[test]
fn those_who_wait_for_the_same_are_one_finding() {
    assert_eq!(found("0 create 1; 1 start; 1 meet! z; 2 start; 2 meet! z; 0 join! 1"), "waits 1@2 2@4 / 0@5<1\n");
}

#[test]
fn a_signal_before_the_wait_is_lost() {
    let waits = "1 lock m; 1 unlock m; 1 wait! c; 0 join! 1";
    assert_eq!(found(&format!("1 start; 0 lock m; 0 signal c; 0 unlock m; {waits}")), "lost 0@2 1@6 / 0@7<1\n");
    // Without the mutex it may come in the middle, or in the replay even behind.
    assert!(found("1 start; 1 lock m; 0 signal c; 1 unlock m; 1 wait! c; 0 join! 1").starts_with("lost 0@2 1@4 / "));
    assert!(found("1 start; 1 lock m; 1 unlock m; 1 wait! c; 0 signal c; 0 join! 1").starts_with("lost 0@4 1@3 / "));
    // Who was signalled while it waited, and who saw what the signal was about, lost nothing.
    let woken = "1 lock m; 1 unlock m; 0 lock m; 0 signal c; 0 unlock m; 1 wait c; 1 unlock m";
    assert!(found(&format!("1 start; {woken}; {waits}")).starts_with("waits"));
    let woken = woken.replace("1 unlock m; 0", "1 unlock m; 1 wait! c; 0");
    assert!(found(&format!("1 start; {woken}; {waits}")).starts_with("waits"), "that it is about to wait is told");
    let seen = "0 lock m; 0 signal c; 0 unlock m; 1 lock m; 1 unlock m";
    assert!(found(&format!("1 start; {seen}; {waits}")).starts_with("waits"));
    assert!(found(&format!("1 start; {waits}")).starts_with("waits"), "it was never signalled");
}

#[test]
fn a_mutex_is_unlocked_by_who_locked_it() {
    assert_eq!(found("1 lock a; 2 unlock a"), "foreign 2@1 1@0 0\n");
    let again = "1 lock a; 2 unlock a; 1 lock a; 2 unlock a";
    assert_eq!(found(again), "foreign 2@1 1@0 1\n");
    assert_eq!(found("1 lock a; 1 unlock a; 2 unlock a"), "");
}

#[test]
fn what_runs_once_may_be_in_a_circle() {
    assert_eq!(found("1 runs a; 2 lock m; 1 lock! m; 2 once! a"), "deadlock 1@2<2@1 2@3<1@0 / \n");
    assert_eq!(found("1 runs a; 2 runs b; 1 once! b; 2 once! a"), "deadlock 1@2<2@1 2@3<1@0 / \n");
    assert_eq!(found("1 runs a; 1 once! a"), "deadlock 1@1<1@0 / \n");
    // It has come to its end, or comes to it.
    assert_eq!(found("1 runs a; 1 ran a; 2 lock m; 1 lock! m; 2 once! a"), "");
    assert_eq!(found("1 runs a; 2 once! a"), "");
}
