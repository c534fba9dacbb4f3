//! Waiting for a moment to the microsecond: tokio's own timers count milliseconds.

use std::io;
use std::time::Instant;

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use tokio::net::unix::pipe::Receiver;

/// A timer of the operating system. Its descriptor is read as a pipe's: there are eight bytes in it when it has ended.
pub struct Timer(Receiver);

impl Timer {
    /// One that isn't set. Must be made, and waited for, where a runtime with input and output runs.
    ///
    /// # Errors
    /// When there are no more file descriptors.
    pub fn new() -> io::Result<Timer> {
        let descriptor = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        Ok(Timer(Receiver::from_owned_fd_unchecked(descriptor)?))
    }

    /// Waits until `moment`; not at all if it has passed.
    ///
    /// # Errors
    /// Of the operating system.
    pub async fn wait_until(&self, moment: Instant) -> io::Result<()> {
        let left = moment.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        let it_value = Timespec::try_from(left).map_err(io::Error::other)?;
        let it_interval = Timespec { tv_sec: 0, tv_nsec: 0 };
        timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &Itimerspec { it_interval, it_value })?;
        loop {
            self.0.readable().await?;
            match self.0.try_read(&mut [0; 8]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read.map(|_| ()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_timer_ends_after_its_moment_and_can_be_set_again() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
        runtime.block_on(async {
            let timer = Timer::new().unwrap();
            for wait_us in [1, 700, 0, 3000] {
                let moment = Instant::now() + Duration::from_micros(wait_us);
                timer.wait_until(moment).await.unwrap();
                assert!(Instant::now() >= moment);
            }
        });
    }
}
