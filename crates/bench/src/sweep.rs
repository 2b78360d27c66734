//! Sweeps one option of a workload over several values: turns one written workload into one for each value.

use crate::error::BenchError;
use crate::registry::{find, parse};
use schedlab_plan::{Setting, WorkloadSpec};

/// More values than this are a typing error.
const MAX_VALUES: usize = 64;
/// Options that set how much runs at the same time: only for these is it meaningful to ask whether twice as much gets
/// twice as much done.
const PARALLEL: &[&str] = &["copies", "groups", "messengers", "pairs", "streams", "threads", "workers"];

/// A workload for each value of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sweep {
    /// The option, `copies`.
    pub option: String,
    /// Whether the option sets how much runs at the same time, so that its scaling may be linear.
    pub parallel: bool,
    /// One spec for each value, with the values spelled out; on two CPUs, `2` and `ncpu` are one value.
    pub specs: Vec<WorkloadSpec>,
}

impl Sweep {
    /// The values, in the order of the specs.
    pub fn values(&self) -> Vec<String> {
        self.specs.iter().filter_map(|spec| spec.args.get(&self.option).cloned()).collect()
    }

    /// Why these settings conflict with the sweep: a setting for the swept option would make all its values equal.
    pub fn conflict_with(&self, settings: &[Setting]) -> Option<String> {
        let sets = |s: &Setting| matches!(s, Setting::WorkloadOption { key, .. } if *key == self.option);
        let setting = settings.iter().find(|s| sets(s))?;
        Some(format!("`{setting}` sets what is swept; leave out one of the two"))
    }
}

/// The sweep of a workload, if it is one: `written` separately (a plan's `sweep`, `--sweep`), or a list where the
/// option takes one number (`pipe:copies=1,2,4,ncpu`). Every value is validated as the workload's own.
pub fn sweep(spec: &WorkloadSpec, written: Option<&(String, Vec<String>)>) -> Result<Option<Sweep>, BenchError> {
    let info = find(spec)?;
    let conflict = |reason: String| BenchError::Conflict { workload: info.name, reason };
    let takes_a_number =
        |key: &str| info.options.iter().any(|o| o.name == key && o.form.split('|').next() == Some("N"));
    let lists: Vec<(&String, &String)> =
        spec.args.iter().filter(|(key, value)| takes_a_number(key) && value.contains(',')).collect();
    let (option, values) = match (written, lists.as_slice()) {
        (None, []) => return Ok(None),
        (Some((option, values)), []) => (option.clone(), values.clone()),
        (None, [(option, values)]) => {
            ((*option).clone(), values.split(',').map(|value| value.trim().to_owned()).collect())
        }
        (_, [(option, _), ..]) => {
            return Err(conflict(format!("one option is swept at a time; give {option} one value")));
        }
    };
    if written.is_some() && spec.args.contains_key(&option) {
        return Err(conflict(format!("{option} is both set and swept; give it once")));
    }
    if values.len() > MAX_VALUES {
        return Err(conflict(format!("{} values of {option} are too many; {MAX_VALUES} at most", values.len())));
    }
    let mut specs: Vec<WorkloadSpec> = Vec::new();
    for value in &values {
        let mut one = spec.clone();
        one.args.insert(option.clone(), value.clone());
        if let Some(spelled_out) = parse(&one)?.spec().args.remove(&option) {
            one.args.insert(option.clone(), spelled_out);
        }
        if !specs.contains(&one) {
            specs.push(one);
        }
    }
    Ok(Some(Sweep { parallel: PARALLEL.contains(&option.as_str()), option, specs }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, written: Option<(&str, &[&str])>) -> Result<Option<Sweep>, String> {
        let written =
            written.map(|(option, values)| (option.to_owned(), values.iter().map(|v| (*v).to_owned()).collect()));
        sweep(&text.parse().unwrap(), written.as_ref()).map_err(|e| e.to_string())
    }

    #[test]
    fn a_list_where_a_number_belongs_is_a_sweep() {
        let cpu = schedlab_sys::affinity::allowed_cpus(0).unwrap()[0];
        let found = of(&format!("pipe:copies=1,2,ncpu,4ncpu,pin=same,cpus={cpu}"), None).unwrap().unwrap();
        assert_eq!((found.option.as_str(), found.values()), ("copies", ["1", "2", "4"].map(str::to_owned).into()));
        assert!(found.parallel && found.specs.iter().all(|spec| spec.args["pin"] == "same"));
        assert_eq!(of("pipe:pin=same", None), Ok(None));
        assert_eq!(of("exec:name='a,b'", None), Ok(None), "a name is not a number");
        assert_eq!(of(&format!("pipe:cpus={cpu},{cpu}"), None), Ok(None), "a CPU list is one value");
    }

    #[test]
    fn any_option_may_be_swept_when_that_is_said() {
        let found = of("pipe:pin=same", Some(("bytes", &["8", "64", "1k"]))).unwrap().unwrap();
        assert_eq!((found.option.as_str(), found.specs.len(), found.parallel), ("bytes", 3, false));
        let setting = |text: &str| text.parse::<Setting>().unwrap();
        assert_eq!(found.conflict_with(&[setting("option:pin=apart")]), None);
        assert!(
            found.conflict_with(&[setting("nice=1"), setting("option:bytes=16")]).unwrap().contains("option:bytes=16")
        );
        let error = |text: &str, written: Option<(&str, &[&str])>| of(text, written).unwrap_err();
        assert!(error("pipe:pin=same", Some(("pin", &["free", "same"]))).contains("give it once"));
        assert!(error("pipe", Some(("pin", &["free", "smae"]))).contains("did you mean `same`"));
        assert!(error("pipe", Some(("copy", &["1", "2"]))).contains("did you mean `copies`"));
        assert!(error("pipe:copies=1,0", None).contains("from 1 to"));
        assert!(error("messaging:groups=1,2,senders=3,4", None).contains("one option"));
    }
}
