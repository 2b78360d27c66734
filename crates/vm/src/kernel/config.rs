//! What a guest's kernel must have built in; checked before it is booted, if its configuration is known.

use super::image::Architecture;

/// An option, and what does not work without it.
type Need = (&'static str, &'static str);

const NEEDS: &[Need] = &[
    ("BLK_DEV_INITRD", "it takes no initramfs"),
    ("BINFMT_ELF", "it starts no program"),
    ("PROC_FS", "it has no /proc"),
    ("SYSFS", "it has no /sys"),
    ("PRINTK", "it cannot say why it stops"),
    ("TTY", "it has no serial ports"),
];

fn console_needs(architecture: Architecture) -> &'static [Need] {
    const NO_CONSOLE: &str = "it has no serial console";
    match architecture {
        Architecture::X86_64 => &[("SERIAL_8250", "it has no serial ports"), ("SERIAL_8250_CONSOLE", NO_CONSOLE)],
        Architecture::Aarch64 => {
            &[("SERIAL_AMBA_PL011_CONSOLE", NO_CONSOLE), ("SERIAL_8250_PCI", "it has no port for results")]
        }
    }
}

/// One sentence for each missing option.
pub fn missing(config: &str, architecture: Architecture) -> Vec<String> {
    let all = NEEDS.iter().chain(console_needs(architecture));
    all.filter(|(option, _)| !has(config, option))
        .map(|(option, why)| format!("{why}: build it with CONFIG_{option}=y"))
        .collect()
}

/// Whether an option is built in.
pub fn has(config: &str, option: &str) -> bool {
    config.lines().any(|line| line.strip_prefix("CONFIG_").is_some_and(|l| l.strip_prefix(option) == Some("=y")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_options_are_named_with_what_they_are_for() {
        let mut config: String = NEEDS.iter().map(|(o, _)| format!("CONFIG_{o}=y\n")).collect();
        config += "CONFIG_SERIAL_8250=y\n# CONFIG_SERIAL_8250_CONSOLE is not set\n";
        let expected = ["it has no serial console: build it with CONFIG_SERIAL_8250_CONSOLE=y"];
        assert_eq!(missing(&config, Architecture::X86_64), expected);
        config += "CONFIG_SERIAL_8250_CONSOLE=y\n";
        assert!(missing(&config, Architecture::X86_64).is_empty());
        assert_eq!(missing(&config, Architecture::Aarch64).len(), 2);
        // A module does not help, because loading it requires the initramfs first.
        assert!(!has("CONFIG_TTY=m\nCONFIG_TTY_X=y\n", "TTY"));
    }
}
