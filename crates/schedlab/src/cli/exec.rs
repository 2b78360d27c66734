//! `schedlab exec`: runs a command with its own settings.

use clap::Args;

/// Its options are the settings of tasks, with the names they have in a SPEC.
#[derive(Debug, Args)]
pub(crate) struct Exec {
    /// Slice of the command's tasks, such as 3ms: Linux 6.12 or newer
    #[arg(long, value_name = "TIME")]
    pub(crate) slice: Option<String>,
    /// Policy: other, batch, idle, fifo:PRIO or rr:PRIO
    #[arg(long, value_name = "POLICY")]
    pub(crate) policy: Option<String>,
    /// Niceness, -20 to 19
    #[arg(long, value_name = "NICE", allow_hyphen_values = true)]
    pub(crate) nice: Option<String>,
    /// CPUs the command may run on, such as 0-3,8
    #[arg(long, value_name = "CPUS")]
    pub(crate) cpus: Option<String>,
    /// Timer slack (how late its timers may fire), such as 50us
    #[arg(long, value_name = "TIME", alias = "timer_slack")]
    pub(crate) timer_slack: Option<String>,
    /// Print what would be set and run, and do neither
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

impl Exec {
    /// The given settings as a SPEC.
    pub(crate) fn spec(&self) -> String {
        let named = [
            ("policy", &self.policy),
            ("nice", &self.nice),
            ("slice", &self.slice),
            ("cpus", &self.cpus),
            ("timer_slack", &self.timer_slack),
        ];
        let given = named.into_iter().filter_map(|(name, value)| Some(format!("{name}={}", value.as_ref()?)));
        Vec::from_iter(given).join(";")
    }
}
