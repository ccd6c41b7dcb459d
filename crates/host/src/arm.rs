//! What Arm machines tell of themselves in another way than x86.

use crate::text::field;

/// Cores by implementer and part, of servers, laptops and boards that people measure on (kernel: arch/arm64/include/asm/cputype.h).
const CORES: &[(&str, &str, &str)] = &[
    ("0x41", "0xd03", "Arm Cortex-A53"),
    ("0x41", "0xd08", "Arm Cortex-A72"),
    ("0x41", "0xd0b", "Arm Cortex-A76"),
    ("0x41", "0xd0c", "Arm Neoverse-N1"),
    ("0x41", "0xd40", "Arm Neoverse-V1"),
    ("0x41", "0xd49", "Arm Neoverse-N2"),
    ("0x41", "0xd4f", "Arm Neoverse-V2"),
    ("0x41", "0xd84", "Arm Neoverse-V3"),
    ("0x41", "0xd8e", "Arm Neoverse-N3"),
    ("0xc0", "0xac3", "Ampere-1"),
    ("0xc0", "0xac4", "Ampere-1a"),
];
/// Marks of machines that are none, in what they call themselves (systemd-detect-virt(1) goes by such, too).
const GUESTS: &[&str] = &[
    "Amazon EC2",
    "Apple Virtualization",
    "Google",
    "KVM",
    "OpenStack",
    "Parallels",
    "QEMU",
    "Virtual Machine",
    "VMware",
];
/// Ends the names of those that a cloud lends whole.
const WHOLE: &str = ".metal";

/// The core's name, or its numbers; `None` where cpuinfo has neither.
pub(crate) fn core(cpuinfo: &str) -> Option<String> {
    let (implementer, part) = (field(cpuinfo, "CPU implementer")?, field(cpuinfo, "CPU part")?);
    let known = CORES.iter().find(|known| (known.0, known.1) == (implementer, part));
    Some(
        known.map_or_else(
            || format!("Arm core {part} of implementer {implementer}"),
            |known| known.2.to_owned(),
        ),
    )
}

/// Whether a hypervisor runs the machine, by what that calls itself: these processors have no flag for it.
pub(crate) fn is_guest(cpuinfo: &str, names: &[String]) -> bool {
    let is_arm = field(cpuinfo, "CPU implementer").is_some();
    let is_marked = names.iter().any(|name| GUESTS.iter().any(|mark| name.contains(mark)));
    is_arm && is_marked && !names.iter().any(|name| name.contains(WHOLE))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRAVITON: &str = "processor\t: 0\nBogoMIPS\t: 2100.00\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n";

    #[test]
    fn cores_have_names_and_unknown_ones_their_numbers() {
        assert_eq!(core(GRAVITON).as_deref(), Some("Arm Neoverse-V1"));
        let other = "CPU implementer\t: 0x51\nCPU part\t: 0x001\n";
        assert_eq!(core(other).as_deref(), Some("Arm core 0x001 of implementer 0x51"));
        assert_eq!(core("model name\t: A CPU\n"), None);
    }

    #[test]
    fn a_guest_is_known_by_what_its_machine_calls_itself() {
        let names = |product: &str| ["Amazon EC2".to_owned(), product.to_owned()];
        assert!(is_guest(GRAVITON, &names("c7g.large")));
        assert!(!is_guest(GRAVITON, &names("c7g.metal")));
        assert!(!is_guest(GRAVITON, &["Raspberry Pi".to_owned()]));
        assert!(!is_guest("flags\t: fpu\n", &names("m7a.metal-24xl")));
    }
}
