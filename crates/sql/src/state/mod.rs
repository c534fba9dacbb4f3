//! The part of a session that functions, commands and catalogs use.
//!
//! [`Instance`] is what all sessions of a database share, [`SessionState`] is what one of them has. Plans, cursors, prepared statements,
//! notifications and the ends of transactions live here. The verbs of the protocol lie above, in [`session`](crate::session). This module
//! names no module above it. It reaches them by [`Callbacks`] and, while a plan runs, by [`executor::Host`].

pub(crate) mod auto_explain;
mod by_text;
pub(crate) mod callbacks;
pub(crate) mod characteristics;
mod counted;
pub(crate) mod cursor;
pub(crate) mod instance;
pub(crate) mod log;
pub(crate) mod nested;
mod notify;
mod object_locks;
mod open_cursors;
mod output;
pub(crate) mod parse_cache;
mod plain_input;
pub(crate) mod plan_cache;
pub mod planning;
pub(crate) mod portal_list;
pub(crate) mod prepared;
mod read_only;
pub(crate) mod ready_functions;
mod relation_locks;
mod running;
mod session_info;
mod session_state;
pub mod settings;
mod tcp;
pub(crate) mod temporary;
mod transaction_end;
pub(crate) mod updatable;
mod waits;
mod warnings;

pub use callbacks::{Callbacks, Language, ResultShape};
pub use characteristics::set_modes;
pub use cursor::{Cursor, Given};
pub(crate) use instance::{ClosedDatabase, refuses_connections};
pub use instance::{Instance, KeptSetting, SettingKeeper};
pub use notify::{Channels, Notification};
pub(crate) use object_locks::{CHANGE_LOCK, DROP_LOCK, hold};
pub use open_cursors::{OpenCursor, Opening};
pub use output::UtilityOutput;
pub use plain_input::input_plain;
pub use plan_cache::Planned;
pub(crate) use portal_list::ListedPortal;
pub(crate) use prepared::CUSTOM_PLANS_FIRST;
pub use prepared::Prepared;
pub(crate) use read_only::{refuse_changes, refuse_locks, while_maintaining};
pub(crate) use relation_locks::RelationLocks;
pub(crate) use running::cannot_run;
pub use running::{Running, query_plan};
pub use session_info::{Activity, ConnectRequest, SessionInfo};
pub use session_state::SessionState;
pub(crate) use session_state::{CommitMark, session_of};
pub use tcp::TcpTimes;
pub use waits::{SessionWait, SessionWaits};
