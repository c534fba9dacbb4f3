//! Settings whose values only superusers and members of `pg_read_all_settings` may see.

use super::Id;

/// Whether the setting is shown to superusers and members of `pg_read_all_settings` only.
pub fn is_hidden(id: Id) -> bool {
    matches!(
        id,
        Id::ConfigFile
            | Id::DataDirectory
            | Id::DynamicLibraryPath
            | Id::HbaRules
            | Id::JitProvider
            | Id::KrbServerKeyfile
            | Id::LogDirectory
            | Id::LogFilename
            | Id::PrimaryConninfo
            | Id::SessionPreloadLibraries
            | Id::SharedPreloadLibraries
            | Id::SslCiphers
            | Id::SslDhParamsFile
            | Id::SslEcdhCurve
            | Id::SslMaxProtocolVersion
            | Id::SslMinProtocolVersion
            | Id::SslPassphraseCommand
            | Id::UnixSocketDirectories
    )
}
