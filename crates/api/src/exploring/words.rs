//! What happened in a run, in words.

use super::run::{About, Failure, Place, State};
use super::world::{Number, Want};
use std::panic::Location;
use std::time::Duration;

/// `thread 1 (worker)`; the closure's own is thread 0.
pub fn thread(state: &State, number: Number) -> String {
    let name = state.members.get(number as usize).and_then(|member| member.name.as_deref());
    match name {
        _ if number == 0 => "thread 0 (the closure)".into(),
        Some(name) => format!("thread {number} ({name})"),
        None => format!("thread {number}"),
    }
}

pub fn at(place: &Location) -> String {
    format!("{}:{}:{}", place.file(), place.line(), place.column())
}

pub fn place(place: &Place) -> String {
    format!("{} {} {}", place.what, if place.is_behind { "behind" } else { "at" }, at(place.at))
}

pub fn count(many: u64, what: &str) -> String {
    format!("{many} {what}{}", if many == 1 { "" } else { "s" })
}

/// Where every thread stands.
pub fn standing(state: &State) -> Vec<String> {
    let seated = state.members.iter().enumerate().filter_map(|(n, member)| Some((n as Number, member.about.as_ref()?)));
    seated.map(|(number, about)| format!("  {} is about to {}", thread(state, number), place(&about.place))).collect()
}

/// Nothing has moved for so long.
pub fn hanging(state: &State, time: Duration) -> Vec<String> {
    let running = thread(state, state.running);
    let last = state.log.iter().zip(&state.places).rfind(|(choice, _)| choice.chosen.thread == state.running);
    let last = last.map_or_else(|| "it began".into(), |(_, last)| format!("it did `{}`", place(last)));
    let mut lines = vec![format!(
        "nothing has moved for {time:?} since {last}, in {running}: it computes for ever, or waits for something that is not \
         of retake::sync or retake::thread, or was made outside of the closure"
    )];
    lines.extend(standing(state));
    lines
}

/// Who waits for ever, for what.
pub fn stuck(state: &State) -> Vec<String> {
    let seated = state.members.iter().enumerate().filter_map(|(n, member)| Some((n as Number, member.about.as_ref()?)));
    let waits = seated.filter(|(number, about)| about.until_ns.is_none() && !state.world.has(*number, about.want));
    waits.map(|(number, about)| format!("  {} {}", thread(state, number), wait(state, number, about))).collect()
}

fn wait(state: &State, number: Number, about: &About) -> String {
    let holders = state.world.holders(number, about.want);
    let held = holders.iter().map(|holder| match holder.thread == number {
        true => format!("itself since {}", at(holder.at)),
        false => format!("{} since {}", thread(state, holder.thread), at(holder.at)),
    });
    let held: Vec<String> = held.collect();
    let waits = format!("waits for ever to {}", place(&about.place));
    match about.want {
        Want::End(other) if !state.world.has_ended(other) => format!("{waits}, which is {}", thread(state, other)),
        _ if !held.is_empty() => format!("{waits}, held by {}", held.join(" and ")),
        Want::Woken(..) => format!("{waits}, and nobody will wake it"),
        _ => waits,
    }
}

pub fn failure(failure: &Failure) -> &'static str {
    match failure {
        Failure::Deadlock => "deadlock",
        Failure::Panic(_) => "panic",
        Failure::Long => "it goes on for ever",
        Failure::Hang => "hang",
    }
}
