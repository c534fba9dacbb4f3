//! Settings of which Cohort implements only the default value, though others would matter.

use super::{Id, Value};
use crate::error::{Error, Result};

/// Whether Cohort implements only the default value of the setting.
pub fn is_fixed(id: Id) -> bool {
    matches!(
        id,
        Id::ArchiveCleanupCommand
            | Id::ArchiveCommand
            | Id::ArchiveLibrary
            | Id::ArchiveMode
            | Id::BacktraceFunctions
            | Id::Bonjour
            | Id::DataSyncRetry
            | Id::DbUserNamespace
            | Id::ExitOnError
            | Id::HashMemMultiplier
            | Id::HugePages
            | Id::IgnoreChecksumFailure
            | Id::IgnoreInvalidPages
            | Id::LocalPreloadLibraries
            | Id::LogExecutorStats
            | Id::LogHostname
            | Id::LogParserStats
            | Id::LogPlannerStats
            | Id::LogStatementStats
            | Id::OldSnapshotThreshold
            | Id::PreAuthDelay
            | Id::PrimaryConninfo
            | Id::PrimarySlotName
            | Id::PromoteTriggerFile
            | Id::QuoteAllIdentifiers
            | Id::RecoveryEndCommand
            | Id::RecoveryTarget
            | Id::RecoveryTargetLsn
            | Id::RecoveryTargetName
            | Id::RecoveryTargetTime
            | Id::RecoveryTargetXid
            | Id::RecursiveWorktableFactor
            | Id::RestoreCommand
            | Id::SslCiphers
            | Id::SslCrlDir
            | Id::SslDhParamsFile
            | Id::SslEcdhCurve
            | Id::SslMaxProtocolVersion
            | Id::SslPassphraseCommand
            | Id::SynchronousStandbyNames
            | Id::TempFileLimit
            | Id::TempTablespaces
            | Id::TrackCommitTimestamp
            | Id::TrackFunctions
            | Id::VacuumDeferCleanupAge
            | Id::WalConsistencyChecking
            | Id::ZeroDamagedPages
    )
}

/// 0A000 for another value than the default of such a setting.
pub(super) fn check(id: Id, value: &Value) -> Result<()> {
    if !is_fixed(id) || super::parse_any(id, id.definition().default)? == *value {
        return Ok(());
    }
    let name = id.definition().name;
    Err(Error::unsupported(format!("parameter \"{name}\" can only have its default value"))
        .detail("Cohort implements only the default value."))
}
