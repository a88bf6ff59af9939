//! The figures and examples of "Optimal Run-Time Tracing of Message-Passing Programs" (TR95-040), each with what every
//! method traces.
//!
//! The drawings are rebuilt from what the text says of them: who sends, what each receive listens on, which messages
//! race. Processes have the paper's numbers; process 2 receives; messages are named in the order in which it does.

use retake_trace::execution::{Event, Execution, History};
use retake_trace::optimum;
use retake_trace::policy::Method;
use retake_trace::race;
use retake_trace::{Channel, Listen};

enum Happens {
    /// A message from one process to another.
    Sends(usize, usize),
    /// A receive that takes what came from a process.
    Takes(usize, usize, Listen),
}
use Happens::{Sends, Takes};

const ANY: Listen = Listen::Any;

fn only(processes: &[u32]) -> Listen {
    Listen::Only(processes.iter().copied().map(Channel).collect())
}

/// What came to process 2.
fn at_process_2(happens: Vec<Happens>) -> History {
    let mut processes = vec![Vec::new(); 8];
    for happens in happens {
        match happens {
            Sends(from, to) => processes[from].push(Event::Send { to, channel: Channel(from as u32) }),
            Takes(at, from, listen) => {
                processes[at].push(Event::Receive { channel: Channel(from as u32), listen });
            }
        }
    }
    Execution { processes }.histories().expect("a drawing of what can happen").swap_remove(2)
}

fn named(receives: &[usize]) -> String {
    receives.iter().map(|receive| format!("m{}", receive + 1)).collect::<Vec<_>>().join(" ")
}

fn traced(method: Method, history: &History) -> String {
    named(&optimum::decided(method, history))
}

/// The pairs that race, as the paper counts them.
fn racing(history: &History) -> String {
    let pairs = race::pairs(history).filter_map(|race| Some(named(&[race.receive, race.taken_by?])));
    pairs.collect::<Vec<_>>().join(", ")
}

/// What each method traces, one line each, and the optimum.
fn by_method(history: &History) -> String {
    let methods = ["all", "netzer-miller", "a", "b", "front", "window=0", "window=1", "window=2"];
    let mut lines: Vec<String> = methods
        .iter()
        .map(|method| format!("{method}: {}", traced(method.parse().expect("a method"), history)))
        .collect();
    lines.push(format!("fewest: {}", optimum::fronts(history).bound));
    assert_eq!(
        optimum::pairs(history).bound,
        optimum::fronts(history).bound,
        "each channel brings one message at most"
    );
    lines.join("\n")
}

#[test]
fn figure_1_two_messages_race() {
    let history = at_process_2(vec![Sends(1, 2), Sends(3, 2), Takes(2, 1, ANY), Takes(2, 3, ANY)]);
    assert_eq!(racing(&history), "m1 m2");
    assert_eq!(
        by_method(&history),
        "all: m1 m2\n\
         netzer-miller: m2\n\
         a: m2\n\
         b: m2\n\
         front: m2\n\
         window=0: m2\n\
         window=1: m2\n\
         window=2: m2\n\
         fewest: 1"
    );
}

fn figure_4() -> History {
    at_process_2(vec![
        Sends(1, 2),
        Sends(3, 2),
        Sends(4, 2),
        Takes(2, 1, only(&[1, 3])),
        Takes(2, 3, only(&[3, 4])),
        Takes(2, 4, only(&[4])),
    ])
}

/// Also example 1: m3 races with m2, which is traced, and with nothing else.
#[test]
fn figure_4_example_1_netzer_and_miller_trace_too_much() {
    assert_eq!(racing(&figure_4()), "m1 m2, m2 m3");
    assert_eq!(
        by_method(&figure_4()),
        "all: m1 m2 m3\n\
         netzer-miller: m2 m3\n\
         a: m2\n\
         b: m2\n\
         front: m2\n\
         window=0: m2\n\
         window=1: m2\n\
         window=2: m2\n\
         fewest: 1"
    );
}

/// The future in which m1 had better be left untraced: process 4 sends m3 when it has heard of m1.
fn figure_5_part_a() -> History {
    at_process_2(vec![
        Sends(1, 2),
        Sends(3, 2),
        Takes(2, 1, ANY),
        Sends(2, 4),
        Takes(4, 2, ANY),
        Sends(4, 2),
        Takes(2, 3, ANY),
        Takes(2, 4, ANY),
    ])
}

/// The future in which m1 had better be traced: it races with m2 and m3, and these do not race with each other.
fn figure_5_part_b() -> History {
    at_process_2(vec![
        Sends(1, 2),
        Sends(3, 2),
        Sends(4, 2),
        Takes(2, 1, ANY),
        Takes(2, 3, only(&[1, 3])),
        Takes(2, 4, only(&[1, 4])),
    ])
}

/// Up to the receive of m1 both are the same, so a method that decides there is wrong in one of the two.
#[test]
fn figure_5_no_method_that_decides_at_once_is_optimal() {
    let (a, b) = (figure_5_part_a(), figure_5_part_b());
    assert_eq!(a.receives[0].arrival, b.receives[0].arrival);
    assert_eq!((racing(&a), racing(&b)), ("m1 m2, m2 m3".into(), "m1 m2, m1 m3".into()));
    assert_eq!(
        by_method(&a),
        "all: m1 m2 m3\n\
         netzer-miller: m2 m3\n\
         a: m2\n\
         b: m2\n\
         front: m2\n\
         window=0: m2\n\
         window=1: m2\n\
         window=2: m2\n\
         fewest: 1"
    );
    assert_eq!(
        by_method(&b),
        "all: m1 m2 m3\n\
         netzer-miller: m2 m3\n\
         a: m2 m3\n\
         b: m2 m3\n\
         front: m2 m3\n\
         window=0: m2 m3\n\
         window=1: m2 m3\n\
         window=2: m1\n\
         fewest: 1"
    );
}

fn figure_7(second: Listen, third: Listen) -> History {
    at_process_2(vec![Sends(1, 2), Sends(3, 2), Sends(4, 2), Takes(2, 1, ANY), Takes(2, 3, second), Takes(2, 4, third)])
}

#[test]
fn figure_7_example_2_all_race() {
    let history = figure_7(ANY, ANY);
    assert_eq!(racing(&history), "m1 m2, m1 m3, m2 m3");
    assert_eq!(
        by_method(&history),
        "all: m1 m2 m3\n\
         netzer-miller: m2 m3\n\
         a: m2 m3\n\
         b: m2 m3\n\
         front: m2 m3\n\
         window=0: m2 m3\n\
         window=1: m2 m3\n\
         window=2: m2 m3\n\
         fewest: 2"
    );
}

/// Two messages of one channel, then one of another: a look at the later of the two is enough.
#[test]
fn figure_9_example_3_only_the_latest_of_a_channel_counts() {
    let history =
        at_process_2(vec![Sends(1, 2), Sends(1, 2), Sends(3, 2), Takes(2, 1, ANY), Takes(2, 1, ANY), Takes(2, 3, ANY)]);
    assert_eq!(racing(&history), "m1 m3, m2 m3");
    assert_eq!(
        by_method(&history),
        "all: m1 m2 m3\n\
         netzer-miller: m3\n\
         a: m3\n\
         b: m3\n\
         front: m3\n\
         window=0: m3\n\
         window=1: m3\n\
         window=2: m3\n\
         fewest: 1"
    );
}

/// The same, where the later of the two (here m3) was traced because of a message before it (m2): the earlier one counts
/// again.
#[test]
fn figure_9_example_3_unless_the_latest_is_traced() {
    let history = at_process_2(vec![
        Sends(1, 2),
        Sends(1, 2),
        Sends(3, 2),
        Takes(2, 1, ANY),
        Sends(2, 4),
        Takes(4, 2, ANY),
        Sends(4, 2),
        Takes(2, 4, only(&[1, 4])),
        Takes(2, 1, ANY),
        Takes(2, 3, ANY),
    ]);
    assert_eq!(racing(&history), "m2 m3, m1 m4, m3 m4");
    assert_eq!(
        by_method(&history),
        "all: m1 m2 m3 m4\n\
         netzer-miller: m3 m4\n\
         a: m3 m4\n\
         b: m3 m4\n\
         front: m3 m4\n\
         window=0: m3 m4\n\
         window=1: m3 m4\n\
         window=2: m3 m4\n\
         fewest: 2"
    );
}

#[test]
fn example_4_algorithm_b_is_not_optimal() {
    let history = figure_7(only(&[1, 3]), only(&[1, 4]));
    assert_eq!(racing(&history), "m1 m2, m1 m3");
    assert_eq!(
        by_method(&history),
        "all: m1 m2 m3\n\
         netzer-miller: m2 m3\n\
         a: m2 m3\n\
         b: m2 m3\n\
         front: m2 m3\n\
         window=0: m2 m3\n\
         window=1: m2 m3\n\
         window=2: m1\n\
         fewest: 1"
    );
}

/// Not in the paper: behind the first message of a channel nothing can come too early. Algorithm B traces all three of
/// process 3, Front the first of them.
#[test]
fn front_only_the_first_message_of_a_channel_can_come_too_early() {
    let sends = [Sends(1, 2), Sends(3, 2), Sends(3, 2), Sends(3, 2), Takes(2, 1, ANY)];
    let takes = [Takes(2, 3, ANY), Takes(2, 3, ANY), Takes(2, 3, ANY)];
    let history = at_process_2(sends.into_iter().chain(takes).collect());
    assert_eq!(traced(Method::NetzerMiller, &history), "m2 m3 m4");
    assert_eq!(traced(Method::B, &history), "m2 m3 m4");
    assert_eq!(traced(Method::Front, &history), "m2");
    assert_eq!((optimum::pairs(&history).bound, optimum::fronts(&history).bound), (1, 1));
}

/// Not in the paper: with two messages from each side even the optimum of the paper's races is too much.
#[test]
fn front_is_below_the_optimum_of_all_pairs() {
    let sends = [Sends(1, 2), Sends(1, 2), Sends(3, 2), Sends(3, 2)];
    let takes = [Takes(2, 1, ANY), Takes(2, 1, ANY), Takes(2, 3, ANY), Takes(2, 3, ANY)];
    let history = at_process_2(sends.into_iter().chain(takes).collect());
    assert_eq!(traced(Method::B, &history), "m3 m4");
    assert_eq!(optimum::pairs(&history).bound, 2);
    assert_eq!(traced(Method::Front, &history), "m3");
    assert_eq!(optimum::fronts(&history).bound, 1);
}

/// Named in the head of `window.rs`: within its window it pays to trace m1 instead of m2 and m3, but then m2 stays untraced,
/// and what comes behind the window races with it. Process 5, 6 and 7 send when they have heard of m1, not of m2.
#[test]
fn window_can_lose() {
    let mut happens = vec![Sends(1, 2), Sends(3, 2), Sends(4, 2), Takes(2, 1, ANY)];
    for process in [5, 6, 7] {
        happens.extend([Sends(2, process), Takes(process, 2, ANY), Sends(process, 2)]);
    }
    happens.extend([Takes(2, 3, only(&[3, 5, 6, 7])), Takes(2, 4, only(&[4]))]);
    happens.extend([5, 6, 7].map(|process| Takes(2, process, only(&[process as u32]))));
    let history = at_process_2(happens);
    assert_eq!(racing(&history), "m1 m2, m1 m3, m2 m4, m2 m5, m2 m6");
    assert_eq!(traced(Method::Front, &history), "m2 m3");
    assert_eq!(traced(Method::Window(2), &history), "m1 m4 m5 m6");
    assert_eq!(traced(Method::Window(5), &history), "m2 m3", "with all of it in sight");
}

/// Not in the paper: a reply to a call orders, too, and races with nothing, even if it never reaches its call.
#[test]
fn what_only_one_can_take_orders_and_does_not_race() {
    let receive = |from| Event::Receive { channel: Channel(from), listen: ANY };
    let sends = |from| Event::Send { to: 0, channel: Channel(from) };
    let (tell, learn) = (Event::Tell { to: 2, channel: Channel(9) }, Event::Learn { channel: Channel(9) });
    let lost = Event::Tell { to: 0, channel: Channel(9) };
    let processes = vec![vec![receive(1), tell, receive(2)], vec![sends(1)], vec![lost, learn, sends(2)]];
    let histories = Execution { processes: processes.clone() }.histories().expect("what can happen");
    assert_eq!(race::fronts(&histories[0]).count(), 0);
    let without = processes.into_iter().map(|events| {
        events.into_iter().filter(|event| !matches!(event, Event::Tell { .. } | Event::Learn { .. })).collect()
    });
    let histories = Execution { processes: without.collect() }.histories().expect("what can happen");
    assert_eq!(racing(&histories[0]), "m1 m2");
}
