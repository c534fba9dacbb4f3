//! The catalog's rows and versions.
