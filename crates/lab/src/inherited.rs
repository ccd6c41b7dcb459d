//! What a process that we start is given of our own environment.
//!
//! A program of the catalogue is somebody else's: it is given what is listed here or in its file, and nothing that was meant
//! for others. So a token of the user's is in no log of theirs, and nobody is measured with settings that nobody knows of.
//! What builds it needs more, such as proxies and registries, and is no longer there when it serves.

use std::ffi::{OsStr, OsString};

use crate::secrets::is_telling;

/// What every program is given: where programs, libraries and folders are, language and time, and where the toolchains are that
/// programs in an interpreter or a virtual machine run on.
const ALWAYS: &str = "
    PATH HOME USER LOGNAME LANG LANGUAGE TZ TMPDIR LD_LIBRARY_PATH
    XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_RUNTIME_DIR SSL_CERT_DIR SSL_CERT_FILE
    ASDF_DATA_DIR ASDF_DIR CARGO_HOME DOTNET_ROOT GOROOT JAVA_HOME JULIA_DEPOT_PATH MISE_DATA_DIR NVM_DIR PYENV_ROOT
    PYENV_VERSION RBENV_ROOT RBENV_VERSION RUSTUP_HOME RUSTUP_TOOLCHAIN VOLTA_HOME";
/// Beginnings of further names of that kind.
const ALWAYS_BEGINNINGS: &str = "LC_";

/// What probes, builds and questions for versions are given besides: compilers and their flags, caches, proxies, certificates.
const BUILDING: &str = "
    AR CC CFLAGS CPATH CPPFLAGS CXX CXXFLAGS C_INCLUDE_PATH CPLUS_INCLUDE_PATH LD LDFLAGS LIBRARY_PATH MAKEFLAGS
    RUSTFLAGS RUSTC_WRAPPER JAVA_TOOL_OPTIONS M2_HOME
    GOAMD64 GOBIN GOCACHE GOENV GOEXPERIMENT GOFLAGS GOINSECURE GOMODCACHE GONOPROXY GONOSUMDB GOPATH GOPRIVATE GOPROXY
    GOSUMDB GOTMPDIR GOTOOLCHAIN
    ALL_PROXY HTTPS_PROXY HTTP_PROXY NO_PROXY all_proxy https_proxy http_proxy no_proxy
    CURL_CA_BUNDLE GIT_SSL_CAINFO NIX_SSL_CERT_FILE NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE";
/// Beginnings of names that build tools and package managers read their settings from.
const BUILDING_BEGINNINGS: &str = "
    CARGO_ CGO_ CMAKE_ JULIA_ MAVEN_ NPM_CONFIG_ PIP_ PKG_CONFIG RUSTUP_ UV_ npm_config_";

/// Where the servers are that assay itself is told of; programs have no business there.
const OURS_ALONE: &str = "ASSAY_DATABASE_URL";

/// The variables of our own that a process is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inherited {
    /// All but the one for assay alone: what a person types is their own.
    All,
    /// Variables that are listed for all, and these.
    Listed(Vec<String>),
}

/// What a process is started for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To be there for others: a server, a database, a generator.
    Serving,
    /// To find out or make what a server needs.
    Building,
}

/// Names and values of variables.
pub(crate) type Variables = Vec<(OsString, OsString)>;

impl Inherited {
    /// What programs are given that nobody said anything of: databases, and our own.
    pub(crate) const LEAST: Self = Self::Listed(Vec::new());

    /// The variables of ours that are passed on.
    pub(crate) fn variables(&self, purpose: Purpose) -> Variables {
        std::env::vars_os().filter(|(name, _)| self.passes(name, purpose)).collect()
    }

    fn passes(&self, name: &OsStr, purpose: Purpose) -> bool {
        let Self::Listed(named) = self else { return name != OURS_ALONE };
        let Some(name) = name.to_str() else { return false };
        let listed = |list: &str| list.split_whitespace().any(|known| known == name);
        // Of whole families of names those are left out that tell of a secret, such as CARGO_REGISTRY_TOKEN.
        let begins = |list: &str| {
            list.split_whitespace().any(|beginning| name.starts_with(beginning)) && !is_telling(name)
        };
        let for_all = listed(ALWAYS) || begins(ALWAYS_BEGINNINGS);
        let for_building = listed(BUILDING) || begins(BUILDING_BEGINNINGS);
        for_all || purpose == Purpose::Building && for_building || named.iter().any(|known| known == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_is_given_what_is_listed_and_named_and_builds_more() {
        let guest = Inherited::Listed(vec!["APP_TOKEN".to_owned()]);
        for (name, serving, building) in [
            ("PATH", true, true),
            ("LC_ALL", true, true),
            ("JAVA_HOME", true, true),
            ("APP_TOKEN", true, true),
            ("GOPROXY", false, true),
            ("https_proxy", false, true),
            ("npm_config_registry", false, true),
            ("PIP_INDEX_URL", false, true),
            ("CARGO_REGISTRY_TOKEN", false, false),
            ("npm_config_//registry.example/:_authToken", false, false),
            ("GOOGLE_CLOUD_PROJECT", false, false),
            ("LD_PRELOAD", false, false),
            ("DATABASE_URL", false, false),
            ("PGPASSWORD", false, false),
            ("ASSAY_DATABASE_URL", false, false),
        ] {
            let passes =
                [Purpose::Serving, Purpose::Building].map(|purpose| guest.passes(name.as_ref(), purpose));
            assert_eq!(passes, [serving, building], "{name}");
        }
    }

    #[test]
    fn a_users_own_command_keeps_the_users_environment_but_what_is_for_assay() {
        for (name, passes) in [("APP_TOKEN", true), ("DATABASE_URL", true), ("ASSAY_DATABASE_URL", false)] {
            assert_eq!(Inherited::All.passes(name.as_ref(), Purpose::Serving), passes, "{name}");
        }
    }
}
