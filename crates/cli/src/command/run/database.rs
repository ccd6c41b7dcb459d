//! Where the database comes from.

use assay_host::isolation::CompanionPlace;
use assay_lab::catalogue::Catalogue;
use assay_lab::database::Source;
use assay_model::database::DatabaseKind;

use crate::failure::Failure;
use crate::output;

/// A database that assay starts.
pub(crate) fn private(
    catalogue: &Catalogue,
    kind: DatabaseKind,
    place: CompanionPlace,
) -> Result<Source, Failure> {
    tell_what_is_ignored(kind);
    Ok(match kind {
        DatabaseKind::Postgresql => Source::Private(place),
        DatabaseKind::Mongodb => Source::Program(kind, Box::new(catalogue.database(kind)?), place),
    })
}

/// What applications find in their environment is no word to assay: it names the user's own data.
fn tell_what_is_ignored(kind: DatabaseKind) {
    let variable = kind.variable();
    if std::env::var_os(variable).is_none_or(|value| value.is_empty()) {
        return;
    }
    let other = match kind {
        DatabaseKind::Postgresql => {
            "; --database URL or ASSAY_DATABASE_URL names a server for one of its own"
        }
        DatabaseKind::Mongodb => "",
    };
    output::note(format_args!("{variable} is set, and not used: assay starts a database of its own{other}"));
}
