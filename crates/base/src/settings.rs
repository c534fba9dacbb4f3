//! The one typed table of all settings.
