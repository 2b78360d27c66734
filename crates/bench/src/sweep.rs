//! One option of a workload over several values: from one written workload to one for each value.

use crate::error::BenchError;
use crate::registry::{find, parse};
use schedlab_run::WorkloadSpec;

/// More values than this is a slip of the keyboard.
const MOST_VALUES: usize = 64;

/// A workload for each value of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sweep {
    /// The option, `copies`.
    pub option: String,
    /// One spec for each value, the values still as written (`ncpu`); two that come to the same are both there.
    pub specs: Vec<WorkloadSpec>,
}

/// The sweep of a workload, if it is one: `written` beside it (a plan's `sweep`, `--sweep`), or a list where the option
/// takes one number (`pipe:copies=1,2,4,ncpu`). Every value is validated as the workload's own.
pub fn sweep(spec: &WorkloadSpec, written: Option<&(String, Vec<String>)>) -> Result<Option<Sweep>, BenchError> {
    let info = find(spec)?;
    let conflict = |reason: String| BenchError::Conflict { workload: info.name, reason };
    let takes_a_number = |key: &str| info.options.iter().any(|o| o.name == key && o.form.starts_with('N'));
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
        return Err(conflict(format!("{option} has a value and is swept too; say it once")));
    }
    if values.len() > MOST_VALUES {
        return Err(conflict(format!("{} values of {option} are too many; {MOST_VALUES} at most", values.len())));
    }
    let of_value = |value: &String| {
        let mut one = spec.clone();
        one.args.insert(option.clone(), value.clone());
        parse(&one).map(|_| one)
    };
    let specs = values.iter().map(of_value).collect::<Result<Vec<_>, _>>()?;
    Ok(Some(Sweep { option, specs }))
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
        let found = of("pipe:copies=1,2,ncpu,pin=same", None).unwrap().unwrap();
        let copies: Vec<&str> = found.specs.iter().map(|spec| spec.args["copies"].as_str()).collect();
        assert_eq!((found.option.as_str(), copies), ("copies", vec!["1", "2", "ncpu"]));
        assert!(found.specs.iter().all(|spec| spec.args["pin"] == "same"));
        assert_eq!(of("pipe:pin=same", None), Ok(None));
        let cpu = schedlab_sys::affinity::allowed_cpus(0).unwrap()[0];
        assert_eq!(of(&format!("pipe:cpus={cpu},{cpu}"), None), Ok(None), "a CPU list is one value");
    }

    #[test]
    fn any_option_may_be_swept_when_that_is_said() {
        let found = of("pipe:pin=same", Some(("bytes", &["8", "64", "1k"]))).unwrap().unwrap();
        assert_eq!((found.option.as_str(), found.specs.len()), ("bytes", 3));
        let error = |text: &str, written: Option<(&str, &[&str])>| of(text, written).unwrap_err();
        assert!(error("pipe:pin=same", Some(("pin", &["free", "same"]))).contains("say it once"));
        assert!(error("pipe", Some(("pin", &["free", "smae"]))).contains("did you mean `same`"));
        assert!(error("pipe", Some(("copy", &["1", "2"]))).contains("did you mean `copies`"));
        assert!(error("pipe:copies=1,0", None).contains("from 1 to"));
        assert!(error("messaging:groups=1,2,senders=3,4", None).contains("one option"));
    }
}
