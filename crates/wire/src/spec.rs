//! What a person asks for: `ring:/dev/shm/a`, `xdp:eth0:2`, `tap:tap0,loss=0.1%,pcap=trace.pcap`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use assay_model::units::Nanos;

use crate::faults::Faults;
use crate::xdp::Mode;

/// Longest delay that can be asked for.
const LONGEST_DELAY: Nanos = Nanos::from_millis(10_000);
/// Options of every kind of wire.
const DECORATIONS: [&str; 6] = ["loss", "duplicate", "reorder", "delay", "seed", "pcap"];
/// Longest name of an interface (IFNAMSIZ, netdevice(7)).
const NAME_BYTES: usize = 15;

/// A wire, and how it is decorated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// What carries the frames.
    pub kind: Kind,
    /// What goes wrong with frames that arrive.
    pub faults: Faults,
    /// Where all frames are written; with several queues, into a file for each.
    pub pcap: Option<PathBuf>,
}

/// What carries frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A ring in shared memory.
    Ring(PathBuf),
    /// Queues of an interface, past the kernel's stack.
    Xdp {
        /// The interface.
        interface: String,
        /// First queue that is used.
        queue: u16,
        /// Where in the kernel frames are taken; as suits the driver when absent.
        mode: Option<Mode>,
    },
    /// A TAP device.
    Tap(String),
    /// The first device that DPDK finds, with these arguments of its environment (EAL), divided by spaces.
    Dpdk(String),
}

/// Text that names no wire.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// Not one of the kinds.
    #[error(
        "`{0}` is no wire; write ring:PATH (such as ring:/dev/shm/a), xdp:INTERFACE, xdp:INTERFACE:QUEUE, tap:INTERFACE or dpdk:EAL-ARGUMENTS"
    )]
    Kind(String),
    /// Not a name that an interface can have.
    #[error(
        "`{0}` cannot be an interface: 1 to 15 letters, digits or signs other than `/`, `:`, `,` and spaces"
    )]
    Interface(String),
    /// Not an option.
    #[error(
        "`{0}` is no option of a wire; write loss=0.1%, duplicate=1%, reorder=1%, delay=5ms (10s at most), seed=7, pcap=FILE, or for xdp \
         mode=generic or mode=native, each once, behind commas; a path cannot have a comma"
    )]
    Option(String),
}

impl FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let (kind, options) = divide(text);
        let kind = kind.parse()?;
        let mut spec = Self { kind, faults: Faults::default(), pcap: None };
        let mut seen = Vec::new();
        for option in options {
            let wrong = || SpecError::Option(option.to_owned());
            let (name, value) = option.split_once('=').ok_or_else(wrong)?;
            if seen.contains(&name) {
                return Err(wrong());
            }
            seen.push(name);
            spec.set(name, value).ok_or_else(wrong)?;
        }
        Ok(spec)
    }
}

/// Divides a text into kind and options. DPDK's arguments may have commas, so that behind these only the last parts that
/// are options by their names are taken for such.
fn divide(text: &str) -> (&str, Vec<&str>) {
    if !text.starts_with("dpdk:") {
        let mut parts = text.split(',');
        return (parts.next().unwrap_or_default(), parts.collect());
    }
    let (mut kind, mut options) = (text, Vec::new());
    while let Some((before, option)) = kind.rsplit_once(',')
        && option.split_once('=').is_some_and(|(name, _)| DECORATIONS.contains(&name))
    {
        options.insert(0, option);
        kind = before;
    }
    (kind, options)
}

impl Spec {
    /// Whether both of its ends are on this machine, in memory that they share.
    pub fn is_in_memory(&self) -> bool {
        matches!(self.kind, Kind::Ring(_))
    }

    /// Sets an option; `None` when there is none of that name or the value is none of its values.
    fn set(&mut self, name: &str, value: &str) -> Option<()> {
        let faults = &mut self.faults;
        match name {
            "loss" => faults.loss = value.parse().ok()?,
            "duplicate" => faults.duplicate = value.parse().ok()?,
            "reorder" => faults.reorder = value.parse().ok()?,
            "delay" => faults.delay = value.parse().ok().filter(|delay| *delay <= LONGEST_DELAY)?,
            "seed" => faults.seed = value.parse().ok()?,
            "mode" => match &mut self.kind {
                Kind::Xdp { mode, .. } => *mode = Some(mode_of(value)?),
                _ => return None,
            },
            "pcap" if !value.is_empty() => self.pcap = Some(value.into()),
            _ => return None,
        }
        Some(())
    }

    /// The file for the frames of one queue of several: `trace.pcap`, `trace.1.pcap`, `trace.2.pcap`.
    pub(crate) fn pcap_of(&self, queue: u16) -> Option<PathBuf> {
        let path = self.pcap.as_ref()?;
        let ending = path.extension().map(|ending| format!(".{}", ending.display())).unwrap_or_default();
        Some(match queue {
            0 => path.clone(),
            queue => path.with_extension(format!("{queue}{ending}")),
        })
    }
}

impl FromStr for Kind {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let unknown = || SpecError::Kind(text.to_owned());
        match text.split_once(':').ok_or_else(unknown)? {
            ("ring", path) if Path::new(path).file_name().is_some() => Ok(Self::Ring(path.into())),
            ("dpdk", arguments) if !arguments.trim().is_empty() => {
                Ok(Self::Dpdk(arguments.trim().to_owned()))
            }
            ("tap", name) => Ok(Self::Tap(interface(name)?)),
            ("xdp", rest) => {
                let (name, queue) = rest.split_once(':').unwrap_or((rest, "0"));
                let queue = queue.parse().map_err(|_| unknown())?;
                Ok(Self::Xdp { interface: interface(name)?, queue, mode: None })
            }
            _ => Err(unknown()),
        }
    }
}

fn mode_of(text: &str) -> Option<Mode> {
    match text {
        "generic" => Some(Mode::Generic),
        "native" => Some(Mode::Native),
        _ => None,
    }
}

/// A name that the kernel accepts (`dev_valid_name` in net/core/dev.c).
fn interface(name: &str) -> Result<String, SpecError> {
    let is_free = |c: char| !c.is_whitespace() && !matches!(c, '/' | ':' | '\0');
    let fits = (1..=NAME_BYTES).contains(&name.len()) && name != "." && name != "..";
    if fits && name.chars().all(is_free) {
        Ok(name.to_owned())
    } else {
        Err(SpecError::Interface(name.to_owned()))
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (faults, usual) = (&self.faults, Faults::default());
        write!(out, "{}", self.kind)?;
        match self.kind {
            Kind::Xdp { mode: Some(Mode::Generic), .. } => out.write_str(",mode=generic")?,
            Kind::Xdp { mode: Some(Mode::Native), .. } => out.write_str(",mode=native")?,
            _ => {}
        }
        let rates = [("loss", faults.loss), ("duplicate", faults.duplicate), ("reorder", faults.reorder)];
        for (name, rate) in rates.into_iter().filter(|(_, rate)| *rate > usual.loss) {
            write!(out, ",{name}={rate}")?;
        }
        if faults.delay > usual.delay {
            write!(out, ",delay={}", Exact(faults.delay))?;
        }
        if faults.seed != usual.seed {
            write!(out, ",seed={}", faults.seed)?;
        }
        self.pcap.as_ref().map_or(Ok(()), |path| write!(out, ",pcap={}", path.display()))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ring(path) => write!(out, "ring:{}", path.display()),
            Self::Xdp { interface, queue: 0, .. } => write!(out, "xdp:{interface}"),
            Self::Xdp { interface, queue, .. } => write!(out, "xdp:{interface}:{queue}"),
            Self::Tap(interface) => write!(out, "tap:{interface}"),
            Self::Dpdk(arguments) => write!(out, "dpdk:{arguments}"),
        }
    }
}

/// A span in the largest unit in which it is a whole number.
struct Exact(Nanos);

impl fmt::Display for Exact {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
        let whole = units.iter().find(|(unit, _)| self.0.0.is_multiple_of(*unit));
        let (unit, name) = whole.copied().unwrap_or((1, "ns"));
        write!(out, "{}{name}", self.0.0 / unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kinds() -> impl Strategy<Value = Kind> {
        let name = "[a-z0-9@._-]{1,15}".prop_filter("a name", |name| name != "." && name != "..");
        let path = "(/[a-z0-9:=. -]{1,9}){0,3}/[a-z0-9:=-]{1,9}";
        let mode = prop_oneof![Just(None), Just(Some(Mode::Generic)), Just(Some(Mode::Native))];
        prop_oneof![
            path.prop_map(|path| Kind::Ring(path.into())),
            (name.clone(), any::<u16>(), mode).prop_map(|(interface, queue, mode)| Kind::Xdp {
                interface,
                queue,
                mode
            }),
            name.prop_map(Kind::Tap),
            "--vdev=net_memif[0-9],role=(server|client)( -[a-z]{1,3}){0,2}".prop_map(Kind::Dpdk),
        ]
    }

    fn rates() -> impl Strategy<Value = crate::Rate> {
        (0..=1_000_000_u32)
            .prop_map(|parts| format!("{}%", f64::from(parts) / 10_000.0).parse().expect("a rate"))
    }

    fn faults() -> impl Strategy<Value = Faults> {
        let delay = (0..=LONGEST_DELAY.0).prop_map(Nanos);
        (rates(), rates(), rates(), delay, any::<u64>()).prop_map(
            |(loss, duplicate, reorder, delay, seed)| Faults { loss, duplicate, reorder, delay, seed },
        )
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(
            kind in kinds(), faults in faults(), pcap in proptest::option::of("[a-z/=:]{1,20}")
        ) {
            let spec = Spec { kind, faults, pcap: pcap.map(PathBuf::from) };
            prop_assert_eq!(spec.to_string().parse(), Ok(spec));
        }

        #[test]
        fn nothing_that_is_written_panics(text in "(ring|xdp|tap|loss|delay|pcap|[:,=%.0-9a-z/ ]){0,12}") {
            if let Ok(spec) = text.parse::<Spec>() {
                prop_assert_eq!(spec.to_string().parse(), Ok(spec));
            }
        }
    }

    #[test]
    fn what_is_no_wire_is_refused_with_what_would_be() {
        for (text, hint) in [
            ("", "ring:PATH"),
            ("ring", "ring:PATH"),
            ("ring:", "ring:PATH"),
            ("ring:/dev/shm/..", "ring:PATH"),
            ("wire:a", "xdp:INTERFACE"),
            ("dpdk: ", "dpdk:EAL-ARGUMENTS"),
            ("dpdk:--no-huge,loss=2", "loss=0.1%"),
            ("xdp:eth0:x", "xdp:INTERFACE:QUEUE"),
            ("xdp:", "1 to 15 letters"),
            ("tap:much-too-long-a-name", "1 to 15 letters"),
            ("tap:a/b", "1 to 15 letters"),
            ("ring:/a,loss", "loss=0.1%"),
            ("ring:/a,loss=1", "loss=0.1%"),
            ("ring:/a,loss=1%,loss=2%", "each"),
            ("ring:/a,delay=11s", "10s at most"),
            ("ring:/a,pcap=", "pcap=FILE"),
            ("ring:/a,colour=red", "no option"),
            ("ring:/a,mode=native", "no option"),
            ("xdp:a,mode=fast", "mode=generic"),
        ] {
            let error = text.parse::<Spec>().expect_err(text).to_string();
            assert!(error.contains(hint), "{text}: {error}");
        }
    }

    #[test]
    fn queues_have_files_of_their_own() {
        let of = |text: &str, queue| text.parse::<Spec>().expect("a wire").pcap_of(queue);
        assert_eq!(of("tap:t,pcap=/tmp/a.pcap", 0), Some("/tmp/a.pcap".into()));
        assert_eq!(of("tap:t,pcap=/tmp/a.pcap", 2), Some("/tmp/a.2.pcap".into()));
        assert_eq!(of("tap:t,pcap=a", 1), Some("a.1".into()));
        assert_eq!(of("tap:t", 1), None);
    }
}
