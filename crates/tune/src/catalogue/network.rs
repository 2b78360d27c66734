//! Network knobs in an arm. `tune set` writes the caller's network namespace, which needs root. An arm is written in a
//! network namespace of the trial's own, which an unprivileged user can create. Some knobs are missing or read-only
//! there, because they belong to the whole host. Kernels differ, so only a look at such a namespace shows which.

use super::Knob;
use super::table::rows;
use crate::reason::AN_ARM_MAY;
use crate::resolve::exact_files;
use crate::roots::Roots;
use schedlab_sys::namespace;
use std::io;

/// Enters a network namespace of its own, as a trial does, and returns the places of `net.*` knobs that can be written
/// there. The process must have one thread, and stays in the namespace.
pub fn net_places_of_an_arm() -> io::Result<Vec<String>> {
    namespace::enter_new_net()?;
    let roots = Roots::default();
    let is_written = |place: &&str| exact_files(&roots, place).is_ok_and(|knob| knob.open_for_write().is_ok());
    let rows = rows();
    let all = rows.iter().flat_map(|row| &row.places).map(|place| place.at).filter(|at| at.starts_with(NET));
    let mut found: Vec<String> = all.filter(is_written).map(str::to_owned).collect();
    // A place has one line for each range of versions with the same default.
    found.dedup();
    Ok(found)
}

const NET: &str = "sysctl:net.";

impl Knob {
    /// Whether it belongs to a network namespace.
    pub fn is_of_network(&self) -> bool {
        self.here.as_ref().is_some_and(|place| place.starts_with(NET))
    }

    /// Records the result of such a look: the places, or why there was none.
    pub fn set_arm(&mut self, places: Result<&[String], &str>) {
        let Some(here) = self.here.clone().filter(|_| self.is_of_network()) else { return };
        self.arm = places.ok().map(|places| places.contains(&here));
        let of_arm = match (self.arm, places) {
            (Some(true), _) => "; an arm of a plan sets it without, in the network namespace of its trial".to_owned(),
            (Some(false), _) => "; an arm cannot set it: it is the whole host's, or hidden from users".to_owned(),
            (None, Err(why)) => format!("; an arm would need a network namespace of its trial: {why}"),
            (None, Ok(_)) => return,
        };
        self.why_not = self.why_not.take().map(|why| why.replace(AN_ARM_MAY, &of_arm));
    }
}

#[cfg(test)]
mod tests {
    use super::super::catalogue;
    use super::*;
    use crate::reason;
    use std::path::Path;

    #[test]
    fn what_an_arm_can_set_is_told_beside_what_the_caller_cannot() {
        let refused = io::Error::from_raw_os_error(13);
        let tree = tempfile::tempdir().unwrap();
        let net = tree.path().join("proc/sys/net/ipv4");
        std::fs::create_dir_all(&net).unwrap();
        std::fs::write(net.join("tcp_autocorking"), "1\n").unwrap();
        let all = catalogue(&Roots::below(tree.path()));
        let mut knob = all.into_iter().find(|knob| knob.name == "tcp_autocorking").unwrap();
        assert_eq!(knob.arm, None, "of a tree it is not known");
        let at = Path::new("/none/proc/sys/net/ipv4/tcp_autocorking");
        (knob.settable, knob.why_not) = (false, Some(reason::refused(at, &refused, None)));
        assert!(knob.why_not.as_ref().unwrap().contains("an arm of a plan may set it"), "{knob:?}");
        let told = |places: Result<&[String], &str>| {
            let mut knob = knob.clone();
            knob.set_arm(places);
            assert!(knob.why_not.as_ref().unwrap().contains("needs root: run with sudo; an arm"), "{knob:?}");
            (knob.arm, knob.why_not.unwrap())
        };
        let (arm, why) = told(Ok(&["sysctl:net.ipv4.tcp_autocorking".to_owned()]));
        assert!(arm == Some(true) && why.contains("an arm of a plan sets it without"), "{why}");
        let (arm, why) = told(Ok(&[]));
        assert!(arm == Some(false) && why.contains("the whole host's"), "{why}");
        let (arm, why) = told(Err("EPERM"));
        assert!(arm.is_none() && why.ends_with("of its trial: EPERM"), "{why}");
    }
}
