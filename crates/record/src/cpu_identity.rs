//! Identifies the CPU, from /proc/cpuinfo: the tables of formulas are chosen by this.

/// Vendor and model; unknown numbers are 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CpuIdentity {
    /// `GenuineIntel`, `AuthenticAMD`, or the implementer of an Arm core (`0x41` Arm, `0x48` HiSilicon).
    pub vendor: String,
    /// x86: family. Arm: part.
    pub family: u32,
    /// x86: model. Arm: variant and revision as `0xVR`.
    pub model: u32,
}

impl CpuIdentity {
    /// Parses the text of /proc/cpuinfo. `Err` if there are two kinds of CPU, or the text names none.
    pub fn parse(cpuinfo: &str) -> Result<Self, String> {
        let mut kinds: Vec<Self> = Vec::new();
        for block in cpuinfo.split("\n\n").filter(|block| !block.trim().is_empty()) {
            let kind = Self::of_block(block);
            if !kind.vendor.is_empty() && !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        match kinds.as_slice() {
            [one] => Ok(one.clone()),
            [] => Err("/proc/cpuinfo names no CPU that schedlab knows".into()),
            [one, other, ..] => {
                Err(format!("the CPUs are of two kinds ({one}; {other}), whose slots cannot be added up"))
            }
        }
    }

    fn of_block(block: &str) -> Self {
        let field = |key: &str| {
            block.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                (name.trim() == key).then(|| value.trim().to_owned())
            })
        };
        let number = |key: &str| -> u32 {
            let text = field(key).unwrap_or_default();
            match text.strip_prefix("0x") {
                Some(hex) => u32::from_str_radix(hex, 16).unwrap_or(0),
                None => text.parse().unwrap_or(0),
            }
        };
        match (field("vendor_id"), field("CPU implementer")) {
            (Some(vendor), _) => Self { vendor, family: number("cpu family"), model: number("model") },
            (None, Some(vendor)) => {
                let model = (number("CPU variant") << 4) | (number("CPU revision") & 0xf);
                Self { vendor, family: number("CPU part"), model }
            }
            (None, None) => Self::default(),
        }
    }
}

impl std::fmt::Display for CpuIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.vendor.as_str() {
            "GenuineIntel" | "AuthenticAMD" => {
                write!(f, "{} family {} model {:#x}", self.vendor, self.family, self.model)
            }
            vendor => {
                write!(f, "implementer {vendor} part {:#x} r{}p{}", self.family, self.model >> 4, self.model & 0xf)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x86_and_arm_name_themselves_differently() {
        let amd =
            "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC\n";
        let cpu = CpuIdentity::parse(&format!("{amd}\n{amd}")).unwrap();
        assert_eq!(cpu, CpuIdentity { vendor: "AuthenticAMD".into(), family: 25, model: 17 });
        assert_eq!(cpu.to_string(), "AuthenticAMD family 25 model 0x11");
        let n2 = "processor\t: 0\nCPU implementer\t: 0x41\nCPU variant\t: 0x0\nCPU part\t: 0xd49\nCPU revision\t: 3\n";
        let cpu = CpuIdentity::parse(n2).unwrap();
        assert_eq!((cpu.family, cpu.model, cpu.to_string().as_str()), (0xd49, 3, "implementer 0x41 part 0xd49 r0p3"));
        let little = n2.replace("0xd49", "0xd05");
        assert!(CpuIdentity::parse(&format!("{n2}\n{little}")).unwrap_err().contains("two kinds"));
        assert!(CpuIdentity::parse("").is_err());
    }
}
