//! What must not be repeated by anything that is printed or written.

use std::sync::LazyLock;

use assay_lab::secrets::Secrets;
use assay_model::workload::Workload;

static SECRETS: LazyLock<Secrets> = LazyLock::new(|| {
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    // Of the command line these are the passwords of URLs and the credentials in fields.
    let urls = words.iter().map(|word| ("command line".into(), word.into()));
    let secrets = Secrets::of(std::env::vars_os().chain(urls));
    secrets.learn_fields(fields(&words));
    secrets
});

/// The secrets of whoever started this process.
pub(crate) fn secrets() -> &'static Secrets {
    &SECRETS
}

/// Learns the credentials that workloads send.
pub(crate) fn learn_those_of<'w>(workloads: impl IntoIterator<Item = &'w Workload>) {
    let requests = workloads.into_iter().flat_map(|workload| &workload.requests);
    let fields = requests.flat_map(|request| &request.headers);
    SECRETS.learn_fields(fields.map(|(name, value)| (&**name, &**value)));
}

/// The fields that a command line gives with `-H` or `--header`, as names with values.
fn fields<'a>(words: &'a [String]) -> Vec<(&'a str, &'a str)> {
    let is_flag = |word: &str| word == "-H" || word == "--header";
    let behind = words.windows(2).filter(|pair| is_flag(&pair[0])).map(|pair| &*pair[1]);
    let inside = words.iter().filter_map(|word| word.strip_prefix("--header=").or(word.strip_prefix("-H")));
    let split = |field: &'a str| field.split_once(':').map(|(name, value)| (name.trim(), value.trim()));
    behind.chain(inside).filter_map(split).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_however_their_flag_is_written() {
        let line = "load -H A:1 --header B:2 --header=C:3 -HD:4 http://h:80/ -H";
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let mut found = fields(&words);
        found.sort_unstable();
        assert_eq!(found, [("A", "1"), ("B", "2"), ("C", "3"), ("D", "4")]);
    }
}
