//! OpenMP's critical sections and locks, as gcc's library has them.

use crate::handle::openmp;
use libc::{c_int, c_void};

interpose! {
    Acquire fn GOMP_critical_start      ()                          => openmp::critical_start;
    Release fn GOMP_critical_end        ()                          => openmp::critical_end;
    Acquire fn GOMP_critical_name_start (name: *mut *mut c_void)    => openmp::critical_name_start;
    Release fn GOMP_critical_name_end   (name: *mut *mut c_void)    => openmp::critical_name_end;
    Acquire fn GOMP_atomic_start        ()                          => openmp::atomic_start;
    Release fn GOMP_atomic_end          ()                          => openmp::atomic_end;
    Acquire fn omp_set_lock             (l: *mut c_void)            => openmp::set_lock;
    Release fn omp_unset_lock           (l: *mut c_void)            => openmp::unset_lock;
    Acquire fn omp_test_lock            (l: *mut c_void) -> c_int   => openmp::test_lock;
    Release fn omp_init_lock            (l: *mut c_void)            => openmp::init_lock;
    Acquire fn omp_set_nest_lock        (l: *mut c_void)            => openmp::set_nest_lock;
    Release fn omp_unset_nest_lock      (l: *mut c_void)            => openmp::unset_nest_lock;
    Acquire fn omp_test_nest_lock       (l: *mut c_void) -> c_int   => openmp::test_nest_lock;
    Release fn omp_init_nest_lock       (l: *mut c_void)            => openmp::init_nest_lock;
}
