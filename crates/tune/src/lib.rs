//! Settings: applied, read back, journalled, restored. The host is left as it was found.
//!
//! Per-task settings ([`task`]) end with their tasks and need no journal; neither do sysctls in a network namespace of
//! the trial's own ([`net_sysctl`]). Everything host-wide goes through [`HostGuard`]: the old value is on disk before
//! the new one is written, and is restored on drop, at the next start after a SIGKILL ([`restore_leftovers`]), or by
//! `schedlab tune restore`. A setting that is not applied is never an error: it is an
//! [`Applied`](schedlab_plan::Applied) with the reason. This crate never runs a trial.
#![forbid(unsafe_code)]

mod catalogue;
mod cgroup;
mod choices;
mod error;
mod export;
mod fate;
mod file;
mod guard;
mod journal;
mod knob;
mod needs;
mod nr_latency;
mod owner;
mod reason;
mod resolve;
mod restore;
mod restored;
mod roots;
pub mod search;
mod state;
mod sysctl;
mod sysfs;
pub mod task;
mod tick;
mod toggles;

pub use catalogue::{
    Knob, Named, PlaceOfKnob, Special, catalogue, in_a_spec, named, net_places_of_an_arm, of_names,
    one_knob_on_two_axes, one_knob_twice_in_an_arm, release, values,
};
pub use error::TuneError;
pub use export::{EXPORT_FILES, Export, Exports, check_exports, exports};
pub use guard::HostGuard;
pub use needs::{Need, check, check_groups, groups_need, needs, needs_in_own_network};
pub use restore::preview::{Preview, preview, set_by_us};
pub use restore::{Leftovers, restore_leftovers};
pub use restored::{Leftover, RestoreOutcome, Restored};
pub use roots::{Roots, state_dir};
pub use sysctl::{net_sysctl, present_value, write_sysctl};
pub use toggles::toggles;
