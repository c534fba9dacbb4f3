//! Calls that take as long as the disk likes, made by other threads for sessions that share theirs with others.

use std::time::Duration;

use sync::{Arc, Interrupt, PoolOptions, Work, WorkPool};

/// Two, since one disk does hardly more at a time, and a session that waits leaves its thread to others.
static THREADS: WorkPool = WorkPool::new(PoolOptions {
    name: "slow file calls",
    stack_bytes: None,
    threads_max: || 2,
    idle_time: Some(Duration::from_secs(10)),
});

/// Has another thread make a call, and waits for it without the caller's thread. No interrupt ends the wait. Outside of
/// coroutines, and where the system has no thread to give, the call is made here. The caller holds no latch and no mutex.
pub(crate) fn call_on_file_thread<R: Send + 'static>(call: impl Fn() -> R + Send + Sync + 'static) -> R {
    // In a model's executions nothing outlives an execution, as the pool's threads would.
    if cfg!(shuttle) || !sync::in_coroutine() {
        return call();
    }
    let call = Arc::new(call);
    let by_other = Arc::clone(&call);
    let never = Arc::new(Interrupt::new());
    let made = sync::with_interrupt(&never, || THREADS.run(Work::Short, move || by_other()));
    // No interrupt can come, so this error says that the system gave no thread: nothing has begun.
    made.unwrap_or_else(|_| call())
}
