//! The machine, as a log should say it.

use std::fmt;

/// What is known about the machine.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Machine {
    /// The processor's name.
    pub model: String,
    /// Family, model and stepping: `6/143/8`.
    pub version: String,
    /// The microcode's revision.
    pub microcode: Option<String>,
    /// How many processors this process may use.
    pub cores: usize,
    /// The hypervisor, if it is a virtual machine: its name, or `unknown`.
    pub hypervisor: Option<String>,
    /// The operating system's kernel.
    pub kernel: Option<String>,
}

impl Machine {
    /// Reads what `/proc/cpuinfo` says of the first processor.
    pub(crate) fn of_cpuinfo(text: &str) -> Self {
        let first = text.split("\n\n").next().unwrap_or("");
        let field = |name: &str| {
            let mut lines = first.lines().filter_map(|line| line.split_once(':'));
            let found = lines.find(|(key, _)| key.trim() == name);
            found.map(|(_, value)| value.trim().to_owned())
        };
        let number = |name| field(name).unwrap_or_else(|| "?".into());
        let flags = field("flags").unwrap_or_default();
        let is_virtual = flags.split_whitespace().any(|flag| flag == "hypervisor");
        Machine {
            model: field("model name").unwrap_or_else(|| "unknown".into()),
            version: format!(
                "{}/{}/{}",
                number("cpu family"),
                number("model"),
                number("stepping")
            ),
            microcode: field("microcode"),
            cores: 1,
            hypervisor: is_virtual.then(|| "unknown".into()),
            kernel: None,
        }
    }
}

impl fmt::Display for Machine {
    /// In one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Machine {
            model,
            version,
            cores,
            ..
        } = self;
        write!(f, "{model}, family/model/stepping {version}")?;
        if let Some(microcode) = &self.microcode {
            write!(f, ", microcode {microcode}")?;
        }
        write!(
            f,
            ", {cores} {}",
            if *cores == 1 { "core" } else { "cores" }
        )?;
        match &self.hypervisor {
            Some(hypervisor) => write!(f, ", hypervisor {hypervisor}")?,
            None => write!(f, ", no hypervisor")?,
        }
        match &self.kernel {
            Some(kernel) => write!(f, ", {kernel}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpuinfo_is_read() {
        let text = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n\
                    model name\t: Some Processor\nstepping\t: 8\nmicrocode\t: 0x1\nflags\t\t: fpu tsc hypervisor\n\n\
                    processor\t: 1\nmodel name\t: Another\n";
        let machine = Machine::of_cpuinfo(text);
        assert_eq!(
            machine.to_string(),
            "Some Processor, family/model/stepping 6/143/8, microcode 0x1, 1 core, hypervisor unknown"
        );
        assert_eq!(Machine::of_cpuinfo("").model, "unknown");
    }
}
