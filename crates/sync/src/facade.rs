//! The primitives everything else is built on: `parking_lot` and `std` normally, `shuttle` under
//! `cfg(shuttle)`, with the same signatures and without poisoning.

#[cfg(shuttle)]
mod modelled;
#[cfg(not(shuttle))]
mod real;

#[cfg(shuttle)]
pub use modelled::*;
#[cfg(not(shuttle))]
pub use real::*;
