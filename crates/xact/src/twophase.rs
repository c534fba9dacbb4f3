//! Prepared transactions: laid out here, built later.
