//! What a checkpoint asks of transactions.
/// Placeholder of the barrier.
pub struct CheckpointBarrier {}
