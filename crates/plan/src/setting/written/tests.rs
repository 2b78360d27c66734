use super::*;
use crate::setting::Arm;

#[test]
fn every_form_prints_as_it_is_read() {
    for (_, form, _) in SETTING_FORMS {
        let setting: Setting = form.parse().unwrap();
        assert_eq!(setting.to_string().parse(), Ok(setting));
    }
}

#[test]
fn an_unknown_setting_names_the_nearest() {
    let error = "slcie=1ms".parse::<Setting>().unwrap_err();
    assert!(error.to_string().contains("did you mean `slice`"), "{error}");
    let error = "nice:5".parse::<Setting>().unwrap_err().to_string();
    assert_eq!(error, "`nice` has another form: `nice=-5`");
}

#[test]
fn values_out_of_range_are_refused_in_words() {
    for bad in [
        "nice=20",
        "policy=fifo:100",
        "slice=5",
        "cpu_quota=10us/100ms",
        "cpus=",
        "sysctl:x",
        "sysctl:net..x=1",
        "sysctl:net//x=1",
        "sysctl:/kernel/x=1",
        "debugfs:/etc/passwd=1",
        "plant=stall:100ms",
        "plant=stall:0ms/1s",
        "plant=stall:2s/1s",
        "plant=pause:1s",
        "sysfs:/etc/passwd=1",
        "sysfs:../x=1",
        "thp=often",
        "cpuidle=deep",
        "audit=maybe",
        "halt_poll=5",
        "option:pin",
    ] {
        assert!(bad.parse::<Setting>().is_err(), "{bad}");
    }
    assert_eq!(Arm::parse("a", "nice=1;nice=2"), Err(SettingError::Twice("nice".into())));
    for joined in ["sysctl:kernel.timer_migration=0,policy=batch", "slice=1ms nice=1"] {
        assert_eq!(Arm::parse("a", joined), Err(SettingError::Joined(joined.into())));
    }
    assert!(Arm::parse("a", "sysctl:net.ipv4.tcp_rmem=4096 87380 6291456").is_ok());
}
