//! Ports for servers that are started in a moment.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::atomic::{AtomicU32, Ordering};

/// The first port that is given out.
const FIRST: u32 = 10_000;
/// Their number. They end below the ports that Linux gives to clients and to listeners that ask for any port: such a
/// port would be free now and could be somebody's a moment later.
const COUNT: u32 = 22_000;
/// The distance between the first ports of two processes with consecutive numbers.
const STRIDE: u32 = 127;

/// A port on which nobody listens, and which neither this process nor another one that still runs has been given.
///
/// # Errors
/// When no port is free.
pub fn free_port() -> io::Result<u16> {
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    let start = std::process::id().wrapping_mul(STRIDE);
    for _ in 0..COUNT {
        let place = start.wrapping_add(GIVEN.fetch_add(1, Ordering::Relaxed));
        let port = u16::try_from(FIRST + place % COUNT).expect("the last one is below 65,536");
        if reserve(port)? && TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).is_ok() {
            return Ok(port);
        }
    }
    Err(io::Error::new(io::ErrorKind::AddrInUse, "no port is free"))
}

/// Reserves the port for this process, until it ends. False if another process has done so. The reservation is a socket with a
/// name in Linux's abstract namespace: it is made in one step, and the system removes it with the process.
fn reserve(port: u16) -> io::Result<bool> {
    match UnixDatagram::bind_addr(&reservation_name(port)?) {
        Ok(reservation) => {
            // Kept open until the process ends.
            std::mem::forget(reservation);
            Ok(true)
        }
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok(false),
        Err(error) => Err(error),
    }
}

/// The name of the socket that reserves the port.
fn reservation_name(port: u16) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("cohort-torture-port-{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Held by each test: both look at the ports that come next, and take ports.
    static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());

    #[test]
    fn a_port_is_free_and_given_once_and_never_a_clients() {
        let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let threads = (0..4).map(|_| std::thread::spawn(|| (0..200).map(|_| free_port().unwrap()).collect::<Vec<_>>()));
        let threads: Vec<_> = threads.collect();
        let mut given: Vec<u16> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        // The next ports are in use now.
        let last = u32::from(free_port().unwrap()) - FIRST;
        let taken = (1..=100).filter_map(|ahead| {
            let port = u16::try_from(FIRST + (last + ahead) % COUNT).unwrap();
            TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok()
        });
        let taken: Vec<TcpListener> = taken.collect();
        assert!(!taken.is_empty(), "none of the next ports could be taken");
        given.extend((0..50).map(|_| free_port().unwrap()));
        assert!(taken.iter().all(|listener| !given.contains(&listener.local_addr().unwrap().port())));
        assert!(given.iter().all(|port| (10_000..32_000).contains(port)), "{given:?}");
        given.sort_unstable();
        given.dedup();
        assert_eq!(given.len(), 850);
    }

    #[test]
    fn a_port_that_another_process_was_given_is_passed_over() {
        let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let last = u32::from(free_port().unwrap()) - FIRST;
        // As another process would. Some of the next ports may be another process's already.
        let reserved = (1..=100).find_map(|ahead| {
            let port = u16::try_from(FIRST + (last + ahead) % COUNT).unwrap();
            let reservation = UnixDatagram::bind_addr(&reservation_name(port).unwrap()).ok()?;
            Some((port, reservation))
        });
        let (port, reservation) = reserved.expect("none of the next ports could be reserved");
        let given: Vec<u16> = (0..10).map(|_| free_port().unwrap()).collect();
        assert!(!given.contains(&port), "{given:?}");
        drop(reservation);
    }
}
