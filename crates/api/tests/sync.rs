//! `retake::sync` where nothing is recorded: it behaves as the standard library does. Recorded, it is tested by
//! `tests/care.rs`.

use retake::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use retake::sync::mpsc::{RecvTimeoutError, TryRecvError, TrySendError, channel, sync_channel};
use retake::sync::{Arc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock};
use retake::thread;
use std::time::Duration;

static COUNT: Mutex<u32> = Mutex::new(0);

#[test]
fn locks_guard_and_are_poisoned() {
    let threads: Vec<_> =
        (0..4).map(|_| thread::spawn(|| (0..1000).for_each(|_| *COUNT.lock().unwrap() += 1))).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(*COUNT.lock().unwrap(), 4000);
    let mutex = Arc::new(Mutex::new(1));
    let guard = mutex.lock().unwrap();
    assert!(mutex.try_lock().is_err());
    drop(guard);
    let broken = mutex.clone();
    let _ = thread::spawn(move || {
        let _guard = broken.lock().unwrap();
        panic!("on purpose");
    })
    .join();
    assert!(mutex.is_poisoned() && mutex.lock().is_err());
    mutex.clear_poison();
    assert_eq!(*mutex.lock().unwrap(), 1);
}

#[test]
fn readers_share_and_writers_do_not() {
    let lock = RwLock::new(String::from("a"));
    let (one, two) = (lock.read().unwrap(), lock.read().unwrap());
    assert!(lock.try_write().is_err());
    assert_eq!(format!("{one}{two}"), "aa");
    drop((one, two));
    lock.write().unwrap().push('b');
    assert_eq!(lock.into_inner().unwrap(), "ab");
}

#[test]
fn conditions_barriers_and_once() {
    let pair = Arc::new((Mutex::new(false), Condvar::new()));
    let other = pair.clone();
    let waker = thread::spawn(move || {
        *other.0.lock().unwrap() = true;
        other.1.notify_all();
    });
    drop(pair.1.wait_while(pair.0.lock().unwrap(), |ready| !*ready).unwrap());
    waker.join().unwrap();
    let (_, over) = pair.1.wait_timeout(pair.0.lock().unwrap(), Duration::from_millis(5)).unwrap();
    assert!(over.timed_out());
    let (barrier, once, calls) = (Barrier::new(3), Once::new(), AtomicUsize::new(0));
    let leaders = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                once.call_once(|| {
                    calls.fetch_add(1, Ordering::SeqCst);
                });
                leaders.fetch_add(usize::from(barrier.wait().is_leader()), Ordering::SeqCst);
            });
        }
    });
    assert!(once.is_completed());
    assert_eq!((calls.into_inner(), leaders.into_inner()), (1, 1));
}

static LAZY: LazyLock<String> = LazyLock::new(|| "made".into());

#[test]
fn values_are_made_once() {
    let cell = OnceLock::new();
    assert_eq!((cell.get(), cell.set(1), cell.set(2)), (None, Ok(()), Err(2)));
    assert_eq!((cell.get_or_init(|| 3), cell.wait(), cell.clone().into_inner()), (&1, &1, Some(1)));
    let (cell, calls) = (OnceLock::new(), AtomicUsize::new(0));
    thread::scope(|scope| {
        for number in 0..4 {
            let (cell, calls) = (&cell, &calls);
            scope.spawn(move || {
                cell.get_or_init(|| calls.fetch_add(1, Ordering::SeqCst) + number);
                assert_eq!(LAZY.len(), 4);
            });
        }
        assert!(*cell.wait() < 4);
    });
    assert_eq!(calls.into_inner(), 1);
    let broken = LazyLock::new(|| -> u32 { panic!("on purpose") });
    for _ in 0..2 {
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| *broken)).is_err());
    }
}

#[test]
fn parked_threads_are_unparked() {
    let parked = thread::spawn(|| {
        thread::park();
        thread::current().name().map(str::to_owned)
    });
    parked.thread().unpark();
    assert_eq!(parked.join().unwrap(), None);
    thread::current().unpark();
    thread::park();
    thread::park_timeout(Duration::from_millis(1));
    let named = thread::Builder::new().name("named".into()).spawn(thread::current).unwrap();
    assert_eq!(named.join().unwrap().name(), Some("named"));
}

#[test]
fn channels_and_atomics() {
    let (sender, receiver) = channel();
    let second = sender.clone();
    thread::spawn(move || (0..5).for_each(|i| second.send(i).unwrap())).join().unwrap();
    assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(receiver.recv_timeout(Duration::from_millis(5)), Err(RecvTimeoutError::Timeout));
    drop(sender);
    assert!(receiver.recv().is_err());
    let (sender, receiver) = sync_channel(1);
    sender.send(1).unwrap();
    assert_eq!(sender.try_send(2), Err(TrySendError::Full(2)));
    drop(receiver);
    assert!(sender.send(3).is_err());
    let mut cell = 5;
    let pointer = AtomicPtr::new(&raw mut cell);
    assert_eq!(pointer.swap(std::ptr::null_mut(), Ordering::SeqCst), &raw mut cell);
    let number = AtomicUsize::default();
    assert_eq!(number.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |now| (now < 1).then_some(now + 1)), Ok(0));
    assert_eq!(number.compare_exchange(0, 9, Ordering::SeqCst, Ordering::SeqCst), Err(1));
}
