//! `retake::sync` and `retake::thread` have the paths and signatures of the standard library's: the same code is
//! compiled against each, and does the same. What is left out is told in docs/library.md.
//!
//! A method is taken as a function pointer, which tells all of its signature; a trait is asked for as a bound.

#![allow(clippy::type_complexity, clippy::useless_conversion)]

/// What every atomic has; names are those where it is used.
macro_rules! atomic {
    ($atomic:ty, $value:ty, $zero:expr) => {{
        shared::<$atomic>();
        static ZERO: $atomic = <$atomic>::new($zero);
        const _: $value = <$atomic>::new($zero).into_inner();
        let _: fn(&$atomic, Ordering) -> $value = <$atomic>::load;
        let _: fn(&$atomic, $value, Ordering) = <$atomic>::store;
        let _: fn(&$atomic, $value, Ordering) -> $value = <$atomic>::swap;
        type Exchange = fn(&$atomic, $value, $value, Ordering, Ordering) -> Result<$value, $value>;
        let _: [Exchange; 2] = [<$atomic>::compare_exchange, <$atomic>::compare_exchange_weak];
        type Change = fn($value) -> Option<$value>;
        let _: fn(&$atomic, Ordering, Ordering, Change) -> Result<$value, $value> = <$atomic>::fetch_update::<Change>;
        let _: fn(&mut $atomic) -> &mut $value = <$atomic>::get_mut;
        let _: fn(&$atomic) -> *mut $value = <$atomic>::as_ptr;
        let (one, plain) = (&ZERO, <$atomic>::from($zero));
        assert_eq!(one.swap($zero, SeqCst), <$atomic>::default().into_inner());
        assert_eq!(format!("{one:?}"), format!("{:?}", plain.load(SeqCst)));
        // SAFETY: nobody else has it.
        assert_eq!(unsafe { *one.as_ptr() }, $zero);
    }};
}

/// And those that are numbers.
macro_rules! numbers {
    ($($atomic:ident $value:ty)*) => {$(
        atomic!(atomic::$atomic, $value, 0);
        let _: [fn(&atomic::$atomic, $value, Ordering) -> $value; 8] = [
            atomic::$atomic::fetch_add, atomic::$atomic::fetch_sub, atomic::$atomic::fetch_and,
            atomic::$atomic::fetch_nand, atomic::$atomic::fetch_or, atomic::$atomic::fetch_xor,
            atomic::$atomic::fetch_max, atomic::$atomic::fetch_min,
        ];
    )*};
}

macro_rules! code {
    ($library:ident) => {
        use $library::sync::atomic::{self, Ordering, Ordering::SeqCst};
        use $library::sync::mpsc::{self, RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};
        use $library::sync::{
            Arc, Barrier, BarrierWaitResult, Condvar, LazyLock, LockResult, Mutex, MutexGuard, Once, OnceLock,
            OnceState, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError, TryLockResult,
            WaitTimeoutResult, Weak,
        };
        use $library::thread::{self, Builder, JoinHandle, Scope, ScopedJoinHandle, Thread};
        use std::cell::Cell;
        use std::fmt::{Debug, Display, Pointer};
        use std::os::unix::thread::{JoinHandleExt, RawPthread};
        use std::panic::{RefUnwindSafe, UnwindSafe, catch_unwind};
        use std::time::Duration;

        /// Has no `Debug`, and may not be shared.
        struct Opaque(#[allow(dead_code)] Cell<u8>);

        fn shared<T: ?Sized + Send + Sync + UnwindSafe + RefUnwindSafe + Debug>() {}
        fn unwinds<T: ?Sized + UnwindSafe + RefUnwindSafe>() {}
        fn sends<T: Send>() {}
        fn shows<T: Debug>() {}

        static MUTEX: Mutex<u32> = Mutex::new(1);
        static RWLOCK: RwLock<u32> = RwLock::new(1);
        static CONDVAR: Condvar = Condvar::new();
        static BARRIER: Barrier = Barrier::new(1);
        static ONCE: Once = Once::new();
        static CELL: OnceLock<u32> = OnceLock::new();
        static LAZY: LazyLock<u32> = LazyLock::new(|| 7);
        static FLAG: atomic::AtomicBool = atomic::AtomicBool::new(false);

        #[test]
        fn locks() {
            shared::<Mutex<u32>>();
            shared::<RwLock<u32>>();
            shared::<Mutex<[u8]>>();
            unwinds::<Mutex<Opaque>>();
            unwinds::<RwLock<Opaque>>();
            unwinds::<Mutex<dyn Send>>();
            unwinds::<MutexGuard<'_, Opaque>>();
            let _: fn(&Mutex<u32>) -> LockResult<MutexGuard<'_, u32>> = Mutex::lock;
            let _: fn(&Mutex<u32>) -> TryLockResult<MutexGuard<'_, u32>> = Mutex::try_lock;
            let _: fn(&Mutex<u32>) -> bool = Mutex::is_poisoned;
            let _: fn(&Mutex<u32>) = Mutex::clear_poison;
            let _: fn(Mutex<u32>) -> LockResult<u32> = Mutex::into_inner;
            let _: fn(&mut Mutex<u32>) -> LockResult<&mut u32> = Mutex::get_mut;
            let _: fn(&RwLock<u32>) -> LockResult<RwLockReadGuard<'_, u32>> = RwLock::read;
            let _: fn(&RwLock<u32>) -> LockResult<RwLockWriteGuard<'_, u32>> = RwLock::write;
            let _: fn(&RwLock<u32>) -> TryLockResult<RwLockReadGuard<'_, u32>> = RwLock::try_read;
            let _: fn(&RwLock<u32>) -> TryLockResult<RwLockWriteGuard<'_, u32>> = RwLock::try_write;
            let _: fn(&RwLock<u32>) -> bool = RwLock::is_poisoned;
            let _: fn(&RwLock<u32>) = RwLock::clear_poison;
            let _: fn(RwLock<u32>) -> LockResult<u32> = RwLock::into_inner;
            let _: fn(&mut RwLock<u32>) -> LockResult<&mut u32> = RwLock::get_mut;
            fn guards<T: Sync + Debug + Display>(_: T) {}
            guards(MUTEX.lock().unwrap());
            guards(RWLOCK.read().unwrap());
            guards(RWLOCK.write().unwrap());
            let told = format!("{:?} {:?}", Mutex::from(1), RwLock::<u8>::from(0));
            assert_eq!(told, "Mutex { data: 1, poisoned: false, .. } RwLock { data: 0, poisoned: false, .. }");
            assert_eq!(Mutex::<u8>::default().into_inner().unwrap() + RwLock::<u8>::default().into_inner().unwrap(), 0);
            let any: Box<Mutex<dyn Debug + Send>> = Box::new(Mutex::new(5u8));
            assert_eq!(format!("{any:?}"), "Mutex { data: 5, poisoned: false, .. }");
            let held = any.lock().unwrap();
            assert_eq!(format!("{held:?} {any:?}"), "5 Mutex { data: \"<locked>\", poisoned: false, .. }");
            drop(held);
            let broken = Mutex::new(1);
            let caught = catch_unwind(|| {
                let _guard = broken.lock().unwrap();
                std::panic::resume_unwind(Box::new(()))
            });
            assert!(caught.is_err());
            assert!(matches!(broken.try_lock(), Err(TryLockError::Poisoned(_))));
            let number = broken.lock().map(|guard| *guard);
            assert_eq!(number.unwrap_or_else(|broken: PoisonError<_>| *broken.into_inner()), 1);
        }

        #[test]
        fn conditions_and_barriers() {
            shared::<Condvar>();
            shared::<Barrier>();
            type Guard<'a> = MutexGuard<'a, u32>;
            let _: for<'a> fn(&Condvar, Guard<'a>) -> LockResult<Guard<'a>> = Condvar::wait::<u32>;
            let _: for<'a> fn(&Condvar, Guard<'a>, Duration) -> LockResult<(Guard<'a>, WaitTimeoutResult)> =
                Condvar::wait_timeout::<u32>;
            let _: for<'a> fn(&Condvar, Guard<'a>, fn(&mut u32) -> bool) -> LockResult<Guard<'a>> =
                Condvar::wait_while::<u32, fn(&mut u32) -> bool>;
            type While = fn(&mut u32) -> bool;
            type Waited<'a> = LockResult<(Guard<'a>, WaitTimeoutResult)>;
            let _: for<'a> fn(&Condvar, Guard<'a>, Duration, While) -> Waited<'a> =
                Condvar::wait_timeout_while::<u32, While>;
            let _: fn(&Condvar) = Condvar::notify_one;
            let _: fn(&Condvar) = Condvar::notify_all;
            let _: fn() -> Condvar = Condvar::default;
            let (guard, over) = CONDVAR.wait_timeout(MUTEX.lock().unwrap(), Duration::from_millis(1)).unwrap();
            drop(guard);
            let copy: WaitTimeoutResult = over;
            assert!(over == copy && copy.timed_out());
            let told = format!("{copy:?} {CONDVAR:?} {BARRIER:?}");
            assert_eq!(told, "WaitTimeoutResult(true) Condvar { .. } Barrier { .. }");
            let led: BarrierWaitResult = BARRIER.wait();
            assert!(led.is_leader());
            assert_eq!(format!("{led:?}"), "BarrierWaitResult { is_leader: true }");
        }

        #[test]
        fn once_and_lazy() {
            shared::<Once>();
            shared::<OnceLock<u32>>();
            shared::<LazyLock<u32>>();
            let _: fn(&Once, fn()) = Once::call_once::<fn()>;
            let _: fn(&Once, fn(&OnceState)) = Once::call_once_force::<fn(&OnceState)>;
            let _: fn(&Once) -> bool = Once::is_completed;
            let _: fn(&OnceLock<u32>) -> Option<&u32> = OnceLock::get;
            let _: fn(&mut OnceLock<u32>) -> Option<&mut u32> = OnceLock::get_mut;
            let _: fn(&OnceLock<u32>) -> &u32 = OnceLock::wait;
            let _: fn(&OnceLock<u32>, u32) -> Result<(), u32> = OnceLock::set;
            let _: fn(&OnceLock<u32>, fn() -> u32) -> &u32 = OnceLock::get_or_init::<fn() -> u32>;
            let _: fn(OnceLock<u32>) -> Option<u32> = OnceLock::into_inner;
            let _: fn(&mut OnceLock<u32>) -> Option<u32> = OnceLock::take;
            let _: fn(&LazyLock<u32>) -> &u32 = LazyLock::force;
            let waiter = thread::spawn(|| {
                ONCE.wait();
                ONCE.wait_force();
            });
            ONCE.call_once(|| {});
            waiter.join().unwrap();
            assert!(ONCE.is_completed());
            let broken = Once::new();
            assert!(catch_unwind(|| broken.call_once(|| std::panic::resume_unwind(Box::new(())))).is_err());
            broken.call_once_force(|state| assert!(state.is_poisoned()));
            broken.wait_force();
            assert_eq!(format!("{broken:?}"), "Once { .. }");
            assert_eq!(CELL.get_or_init(|| 3), CELL.wait());
            assert_eq!((OnceLock::from(3), OnceLock::<u8>::default()), (CELL.clone(), OnceLock::new()));
            assert_eq!(format!("{CELL:?} {:?}", OnceLock::<u8>::new()), "OnceLock(3) OnceLock(<uninit>)");
            assert_eq!((*LAZY, format!("{LAZY:?}")), (7, "LazyLock(7)".into()));
            let fresh = LazyLock::<u8>::default();
            assert_eq!((format!("{fresh:?}"), *fresh), ("LazyLock(<uninit>)".into(), 0));
        }

        #[test]
        fn channels() {
            shared::<mpsc::Sender<u32>>();
            shared::<mpsc::SyncSender<u32>>();
            unwinds::<mpsc::Sender<Opaque>>();
            unwinds::<mpsc::SyncSender<Opaque>>();
            unwinds::<mpsc::Receiver<Opaque>>();
            sends::<mpsc::Receiver<u32>>();
            sends::<mpsc::IntoIter<u32>>();
            shows::<mpsc::Receiver<Opaque>>();
            shows::<mpsc::Sender<Opaque>>();
            shows::<mpsc::SyncSender<Opaque>>();
            shows::<mpsc::Iter<'_, u32>>();
            shows::<mpsc::TryIter<'_, u32>>();
            shows::<mpsc::IntoIter<u32>>();
            let _: fn() -> (mpsc::Sender<u32>, mpsc::Receiver<u32>) = mpsc::channel::<u32>;
            let _: fn(usize) -> (mpsc::SyncSender<u32>, mpsc::Receiver<u32>) = mpsc::sync_channel::<u32>;
            let _: fn(&mpsc::Sender<u32>, u32) -> Result<(), SendError<u32>> = mpsc::Sender::send;
            let _: fn(&mpsc::SyncSender<u32>, u32) -> Result<(), SendError<u32>> = mpsc::SyncSender::send;
            let _: fn(&mpsc::SyncSender<u32>, u32) -> Result<(), TrySendError<u32>> = mpsc::SyncSender::try_send;
            let _: fn(&mpsc::Receiver<u32>) -> Result<u32, RecvError> = mpsc::Receiver::recv;
            let _: fn(&mpsc::Receiver<u32>) -> Result<u32, TryRecvError> = mpsc::Receiver::try_recv;
            let _: fn(&mpsc::Receiver<u32>, Duration) -> Result<u32, RecvTimeoutError> = mpsc::Receiver::recv_timeout;
            let _: fn(&mpsc::Receiver<u32>) -> mpsc::Iter<'_, u32> = mpsc::Receiver::iter;
            let _: fn(&mpsc::Receiver<u32>) -> mpsc::TryIter<'_, u32> = mpsc::Receiver::try_iter;
            let (sender, receiver) = mpsc::channel();
            (0..4).for_each(|number| sender.clone().send(number).unwrap());
            assert_eq!(format!("{sender:?} {receiver:?}"), "Sender { .. } Receiver { .. }");
            drop(sender);
            assert_eq!((&receiver).into_iter().next(), Some(0));
            assert_eq!((receiver.try_iter().next(), receiver.iter().next()), (Some(1), Some(2)));
            assert_eq!(receiver.into_iter().collect::<Vec<_>>(), [3]);
        }

        #[test]
        fn atomics() {
            numbers! {
                AtomicI8 i8 AtomicI16 i16 AtomicI32 i32 AtomicI64 i64 AtomicIsize isize
                AtomicU8 u8 AtomicU16 u16 AtomicU32 u32 AtomicU64 u64 AtomicUsize usize
            }
            atomic!(atomic::AtomicBool, bool, false);
            atomic!(atomic::AtomicPtr<u8>, *mut u8, std::ptr::null_mut());
            let _: [fn(&atomic::AtomicBool, bool, Ordering) -> bool; 4] = [
                atomic::AtomicBool::fetch_and,
                atomic::AtomicBool::fetch_nand,
                atomic::AtomicBool::fetch_or,
                atomic::AtomicBool::fetch_xor,
            ];
            assert!(!FLAG.fetch_not(SeqCst) && FLAG.load(SeqCst));
            fn pointer<T: Pointer>() {}
            pointer::<atomic::AtomicPtr<u8>>();
            atomic::fence(SeqCst);
            atomic::compiler_fence(SeqCst);
        }

        #[test]
        fn threads() {
            shared::<Thread>();
            shows::<JoinHandle<Opaque>>();
            shows::<ScopedJoinHandle<'_, Opaque>>();
            shows::<Builder>();
            shows::<Scope<'_, '_>>();
            fn both<T: Send + Sync>() {}
            both::<JoinHandle<Opaque>>();
            both::<ScopedJoinHandle<'_, u8>>();
            let _: fn(fn() -> u32) -> JoinHandle<u32> = thread::spawn::<fn() -> u32, u32>;
            let _: fn(Builder, fn() -> u32) -> std::io::Result<JoinHandle<u32>> = Builder::spawn::<fn() -> u32, u32>;
            let _: unsafe fn(Builder, fn() -> u32) -> std::io::Result<JoinHandle<u32>> =
                Builder::spawn_unchecked::<fn() -> u32, u32>;
            let _: fn(JoinHandle<u32>) -> thread::Result<u32> = JoinHandle::join;
            let _: fn(&JoinHandle<u32>) -> &Thread = JoinHandle::thread;
            let _: fn(&JoinHandle<u32>) -> bool = JoinHandle::is_finished;
            let _: fn(&JoinHandle<u32>) -> RawPthread = JoinHandleExt::as_pthread_t;
            let _: fn(JoinHandle<u32>) -> RawPthread = JoinHandleExt::into_pthread_t;
            let _: fn(ScopedJoinHandle<'static, u32>) -> thread::Result<u32> = ScopedJoinHandle::join;
            let _: fn(&Thread) -> thread::ThreadId = Thread::id;
            let _: fn(&Thread) -> Option<&str> = Thread::name;
            let _: fn(&Thread) = Thread::unpark;
            let _: [fn(); 2] = [thread::park, thread::yield_now];
            let _: [fn(Duration); 2] = [thread::sleep, thread::park_timeout];
            let _: fn() -> std::io::Result<std::num::NonZero<usize>> = thread::available_parallelism;
            #[allow(deprecated)]
            let _: [fn(u32); 2] = [thread::sleep_ms, thread::park_timeout_ms];
            thread_local!(static MINE: Cell<u32> = const { Cell::new(1) });
            fn key(_: &'static thread::LocalKey<Cell<u32>>) {}
            key(&MINE);
            let gone: Result<u32, thread::AccessError> = MINE.try_with(Cell::get);
            assert_eq!((gone, thread::panicking()), (Ok(1), false));
            let number = Cell::new(1);
            // SAFETY: it is joined before what it borrows goes.
            let made = unsafe { Builder::new().name("here".into()).stack_size(1 << 20).spawn_unchecked(|| MINE.get()) };
            assert_eq!(made.unwrap().join().unwrap() + number.get(), 2);
            let mut numbers = vec![1, 2];
            let told = thread::scope(|scope| {
                let first: ScopedJoinHandle<'_, usize> = scope.spawn(|| numbers.len());
                let second = Builder::new().spawn_scoped(scope, || numbers[0]).unwrap();
                assert!(second.thread().name().is_none() && format!("{first:?}") == "ScopedJoinHandle { .. }");
                // A thread may make others.
                let third = scope.spawn(|| scope.spawn(|| numbers[1]).join().unwrap());
                first.join().unwrap() + second.join().unwrap() + third.join().unwrap()
            });
            numbers.push(told);
            assert_eq!(numbers, [1, 2, 5]);
            let handle = thread::spawn(|| Opaque(Cell::new(1)));
            assert_eq!(format!("{handle:?}"), "JoinHandle { .. }");
            handle.thread().unpark();
            assert!(handle.join().is_ok());
            thread::current().unpark();
            thread::park();
            let one = Arc::new(1);
            let weak: Weak<u32> = Arc::downgrade(&one);
            assert_eq!(weak.upgrade(), Some(one));
        }
    };
}

mod standard {
    code!(std);
}

mod ours {
    code!(retake);
}
