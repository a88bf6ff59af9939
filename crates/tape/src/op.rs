//! The operations that can stand on a tape, with numbers that never change their meaning.

macro_rules! ops {
    ($($name:ident = $number:literal $word:literal,)*) => {
        /// What a thread did. Several functions may be one operation: `mtx_lock` is a `MutexLock`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Op { $($name = $number,)* }

        impl Op {
            /// The operation of this number, if this build knows it.
            pub const fn from_number(number: u8) -> Option<Op> {
                match number { $($number => Some(Op::$name),)* _ => None }
            }

            /// The operation in words.
            pub const fn word(self) -> &'static str {
                match self { $(Op::$name => $word,)* }
            }
        }
    };
}

ops! {
    MutexLock = 1 "lock mutex",
    MutexTry = 2 "try mutex",
    MutexTimed = 3 "lock mutex with time-out",
    MutexUnlock = 4 "unlock mutex",
    MutexInit = 5 "init mutex",
    MutexDestroy = 6 "destroy mutex",
    CondWait = 10 "wait for condition",
    CondTimed = 11 "wait for condition with time-out",
    CondSignal = 12 "signal condition",
    CondBroadcast = 13 "broadcast condition",
    RwRead = 20 "read-lock rwlock",
    RwTryRead = 21 "try to read-lock rwlock",
    RwTimedRead = 22 "read-lock rwlock with time-out",
    RwWrite = 23 "write-lock rwlock",
    RwTryWrite = 24 "try to write-lock rwlock",
    RwTimedWrite = 25 "write-lock rwlock with time-out",
    RwUnlock = 26 "unlock rwlock",
    SpinLock = 30 "lock spinlock",
    SpinTry = 31 "try spinlock",
    SpinUnlock = 32 "unlock spinlock",
    Barrier = 35 "wait at barrier",
    Once = 36 "once",
    OnceEnd = 37 "end of once",
    SemWait = 40 "wait for semaphore",
    SemTry = 41 "try semaphore",
    SemTimed = 42 "wait for semaphore with time-out",
    SemPost = 43 "post semaphore",
    SemValue = 44 "read semaphore's value",
    Futex = 45 "wait for futex",
    FutexTimed = 46 "wait for futex with time-out",
    FutexWake = 47 "wake futex",
    ThreadCreate = 50 "create thread",
    ThreadJoin = 51 "join thread",
    ThreadTryJoin = 52 "try to join thread",
    ThreadStart = 53 "thread starts",
    ThreadEnd = 54 "thread ends",
    ThreadCancel = 55 "look for cancellation",
    OmpCritical = 60 "enter critical section",
    OmpCriticalEnd = 61 "leave critical section",
    OmpLock = 62 "lock OpenMP lock",
    OmpTry = 63 "try OpenMP lock",
    OmpUnlock = 64 "unlock OpenMP lock",
    Stream = 70 "use stream",
    Write = 71 "write to file descriptor",
    Clock = 80 "read clock",
    Random = 81 "read random bytes",
    Sleep = 82 "sleep",
    Pid = 83 "ask for a process id",
    Outward = 84 "wait for the outside",
    Fork = 90 "fork",
    Exec = 91 "execute program",
    Spawn = 92 "spawn program",
    Wait = 93 "wait for child",
    Kill = 94 "send signal",
    SigWait = 95 "wait for signal",
    Exit = 96 "exit",
    Abort = 97 "abort",
    Misc = 100 "call",
    Baton = 101 "wait for its turn",
    MpiStart = 110 "start MPI",
    MpiRecv = 111 "receive message",
    MpiPost = 112 "ask for message",
    MpiWait = 113 "wait for message",
    MpiWaitAny = 114 "wait for any of several messages",
    MpiWaitSome = 115 "wait for some of several messages",
    MpiTest = 116 "test for message",
    MpiTestAny = 117 "test for any of several messages",
    MpiTestSome = 118 "test for some of several messages",
    MpiTestAll = 119 "test for several messages",
    MpiGetStatus = 120 "look at request",
    MpiProbe = 121 "wait until a message can be received",
    MpiIprobe = 122 "look whether a message can be received",
    MpiCancel = 123 "cancel request",
    MpiSpawn = 124 "spawn ranks",
    MpiGot = 125 "got message",
    PvmEnrol = 180 "enrol in PVM",
    PvmExit = 181 "leave PVM",
    PvmSpawn = 182 "spawn tasks (pvm_spawn)",
    PvmRecv = 183 "receive a message (pvm_recv)",
    PvmNrecv = 184 "look for a message and receive it (pvm_nrecv)",
    PvmTrecv = 185 "receive a message with time-out (pvm_trecv)",
    PvmPrecv = 186 "receive a message into a buffer (pvm_precv)",
    PvmProbe = 187 "look for a message (pvm_probe)",
    PvmSend = 188 "send a message (pvm_send)",
    PvmAsk = 189 "ask PVM about tasks or hosts",
    PvmKill = 190 "send a signal to a task (pvm_kill)",
    PvmNotify = 191 "ask to be notified (pvm_notify)",
    PvmHosts = 192 "change the virtual machine",
    PvmContext = 193 "make or free a context",
    PvmMailbox = 194 "use a mailbox of PVM",
    PvmMember = 195 "join or leave a group",
    PvmGroup = 196 "ask about a group",
    PvmBarrier = 197 "wait at a group's barrier",
    PvmCollect = 198 "exchange data in a group",
    PvmOutput = 199 "take over output of tasks (pvm_catchout)",
}
