//! What a thread of an exploration panicked with: kept, instead of being printed a thousand times.

use super::part;
use std::cell::RefCell;
use std::panic;
use std::sync::Once;

thread_local! {
    static LAST: RefCell<(String, String)> = const { RefCell::new((String::new(), String::new())) };
}

static KEPT: Once = Once::new();

/// From now on panics of threads that are explored are kept; all others go where they went.
pub fn keep() {
    KEPT.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let Some(part) = part::part() else { return before(info) };
            let at = info.location().map_or_else(|| "an unknown place".into(), super::words::at);
            let _ = LAST.try_with(|last| *last.borrow_mut() = (at, words(info.payload())));
            if part.run.is_loud {
                before(info);
            }
        }));
    });
}

fn words(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a value that is no text".into())
}

/// Where this thread panicked, and with what: the payload tells if somebody else keeps the panics.
pub fn told(payload: &(dyn std::any::Any + Send)) -> (String, String) {
    let (at, message) = LAST.with(|last| last.take());
    if at.is_empty() { ("an unknown place".into(), words(payload)) } else { (at, message) }
}
