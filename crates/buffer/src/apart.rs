//! Calls that take as long as the disk likes, made by other threads for sessions that share theirs with others.

use std::time::Duration;

use sync::{Arc, Interrupt, PoolOptions, Work, WorkPool};

/// Two: one disk does hardly more at a time, and a session that waits keeps nobody from anything.
static THREADS: WorkPool = WorkPool::new(PoolOptions {
    name: "file syncs",
    stack_bytes: None,
    threads_max: || 2,
    idle_time: Some(Duration::from_secs(10)),
});

/// Has another thread make a call, and waits for it without the caller's thread. No interrupt ends the wait. Outside of
/// coroutines, and where the system has no thread to give, the call is made here. The caller holds no latch and no lock.
pub(crate) fn call_apart<R: Send + 'static>(call: impl Fn() -> R + Send + Sync + 'static) -> R {
    // In a model's executions nothing outlives an execution, as the pool's threads would.
    if cfg!(shuttle) || !sync::in_coroutine() {
        return call();
    }
    let call = Arc::new(call);
    let by_other = Arc::clone(&call);
    let never = Arc::new(Interrupt::new());
    let made = sync::with_interrupt(&never, || THREADS.run(Work::Short, move || by_other()));
    made.unwrap_or_else(|_| call())
}
