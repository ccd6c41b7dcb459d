//! What people write in TOML: experiments, workloads, contenders.
#![no_main]

use assay_lab::catalogue::Catalogue;
use libfuzzer_sys::fuzz_target;

/// In memory: a catalogue is read from files.
const MEMORY: &str = "/dev/shm";
/// Files of the project beside the one that is tried.
const OTHERS: [(&str, &str); 2] = [
    ("workloads/hello.toml", include_str!("../../workloads/hello.toml")),
    ("contenders/c/nginx/contender.toml", include_str!("../../contenders/c/nginx/contender.toml")),
];

// The first byte says which kind of file the rest is: e, w or c.
fuzz_target!(|input: &[u8]| {
    let Some((kind, text)) = input.split_first() else { return };
    let file = match kind {
        b'e' => "experiments/tried.toml",
        b'w' => "workloads/tried.toml",
        b'c' => "contenders/c/tried/contender.toml",
        _ => return,
    };
    let folder = tempfile::tempdir_in(MEMORY).expect("memory");
    for (name, text) in OTHERS.map(|(name, text)| (name, text.as_bytes())).into_iter().chain([(file, text)]) {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    }
    let catalogue = match Catalogue::read(folder.path()) {
        Ok(catalogue) => catalogue,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    for experiment in &catalogue.experiments {
        let mut experiment = experiment.clone();
        let _ = catalogue.workloads_of(&mut experiment);
        let _ = catalogue.select_only(&experiment.contenders);
        assert!(experiment.cells().len() < 1_000_000);
    }
    for workload in &catalogue.workloads {
        let _ = catalogue.workloads_called(&workload.name);
    }
});
