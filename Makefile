# Two commands do everything: `make showdown` and `make test`. Both set up what they need first.
.PHONY: showdown quickest showdown-binary showdown-contenders test setup build binary compiled lint manners unit process process-of-binary process-of-parts alone browser dpdk-check deny cargo-deny fresh-clone templates-check package-check install built-before shared-files deb static ui clean help

TARGET := $(or $(CARGO_TARGET_DIR),target)
ASSAY := $(TARGET)/release/assay
# Not a part of make's own job server: cargo uses all CPUs beside whatever else runs.
APART := env -u MAKEFLAGS -u MFLAGS
CARGO := $(APART) cargo
XTASK := $(CARGO) xtask
BUILT_XTASK := $(APART) $(TARGET)/debug/xtask
PREFIX := /usr/local
ZSH_FUNCTIONS = $(PREFIX)/share/zsh/site-functions
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
CARGO_DENY := 0.20.2
MUSL := x86_64-unknown-linux-musl
# The names of all test programs but `it`, which takes as long as all others.
TESTS := $(wildcard crates/*/tests/*.rs) $(patsubst %/main.rs,%.rs,$(wildcard crates/*/tests/*/main.rs))
OTHER_TESTS := $(filter-out it,$(sort $(basename $(notdir $(TESTS)))))

## showdown: set up, run the main job, leave report.html: a first look in five minutes from nothing, then the whole in four
showdown:
	began=$$(date +%s) && $(MAKE) quickest && scripts/run-showdown.sh "$$began"

# The contenders are fetched and built while cargo compiles, on what it leaves of the CPUs: it is the longer of the two, and ends on one of
# them. What this run does not use is not built at all.
quickest:
	scripts/setup.sh compiler
	$(MAKE) -j 2 showdown-binary showdown-contenders

# Those of experiments/showdown.toml.
showdown-contenders:
	scripts/setup.sh showdown
	nice -n 19 scripts/build-contenders.sh $$(sed -n 's/^contenders = \[\(.*\)\].*/\1/p' experiments/showdown.toml | tr -d '",')

showdown-binary:
	ASSAY_CARRIED_PRELOAD= $(CARGO) build --profile showdown --locked -p assay

## setup: install what every contender and generator needs that Debian has, also those outside the showdown
setup:
	scripts/setup.sh all

## build: install what the showdown needs and build assay
build:
	scripts/setup.sh showdown
	$(MAKE) binary

## binary: build assay and nothing else; the preload library lies beside it, so none is carried inside
binary:
	ASSAY_CARRIED_PRELOAD= $(CARGO) build --release --locked -p assay -p assay-preload

## test: set up, then every check and every test
# One build compiles, lints and documents: `make lint` would check all dependencies twice more.
test: export RUSTC_WORKSPACE_WRAPPER := $(CURDIR)/scripts/lint-while-compiling.sh
test:
	scripts/setup.sh compiler
	$(MAKE) -j 2 installed compiled
	$(MAKE) -j 3 --output-sync=line process-of-binary process-of-parts computed XTASK='$(BUILT_XTASK)'
	$(MAKE) alone XTASK='$(BUILT_XTASK)'

# While cargo compiles.
.PHONY: installed
installed:
	scripts/setup.sh test

# What computes has the CPU time that what waits does not need. The tests of the binary take longest, so all else is beside them.
.PHONY: computed
computed:
	nice -n 10 $(MAKE) unit
	nice -n 10 $(MAKE) manners
	$(MAKE) browser

# All at once: what cargo builds for a package alone has other features, and is compiled once more.
compiled:
	$(CARGO) build --workspace --all-targets --locked

## lint: layers, manners, dependencies and their licences, format, generated files, lints, documentation
lint: manners
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --workspace --no-deps --locked

manners:
	$(XTASK) tidy
	$(XTASK) licences
	$(CARGO) fmt --all --check
	$(XTASK) schemas --check

## unit: tests inside the crates, and the examples in their documentation
unit:
	$(CARGO) test --workspace --lib --bins --locked
	$(CARGO) test --workspace --doc --locked

## process: tests with real processes, servers, networks and programs
process: compiled
	$(MAKE) -j 2 --output-sync=line process-of-binary process-of-parts
	$(MAKE) alone

# Tests of processes wait for most of their time, so they do so at once; cargo runs one test program after the other.
process-of-binary process-of-parts: export RUST_TEST_THREADS := $(shell expr 2 '*' $$(nproc))
process-of-binary:
	$(XTASK) process-tests --failed $(TARGET)/failed-of-binary it

process-of-parts:
	$(XTASK) process-tests --failed $(TARGET)/failed-of-parts $(OTHER_TESTS)

# Those that failed beside the others, when nothing else runs any more.
alone:
	cat $(TARGET)/failed-of-binary $(TARGET)/failed-of-parts >$(TARGET)/failed-beside-others
	$(XTASK) process-tests --alone --failed $(TARGET)/failed-beside-others it $(OTHER_TESTS)

## browser: the report's page, its tests in a browser, and whether the committed page is fresh
browser:
	cd report-ui && npm ci --no-audit --no-fund && npm test && npm run e2e
	$(XTASK) ui --check

## dpdk-check: lint what the feature dpdk adds (Debian: libdpdk-dev)
dpdk-check:
	$(CARGO) clippy -p assay -p assay-preload --features dpdk --all-targets --locked -- -D warnings

## deny: licences, advisories and sources of all dependencies, by cargo-deny
deny:
	@$(CARGO) deny --version >/dev/null 2>&1 || { \
		echo 'make deny: cargo-deny is missing; install it with: cargo install --locked cargo-deny@$(CARGO_DENY)' >&2; exit 1; }
	$(CARGO) deny check

# One version everywhere: an older one may not know an option of deny.toml.
cargo-deny:
	$(CARGO) install --locked cargo-deny@$(CARGO_DENY)

## fresh-clone: how long `make showdown` takes in a clean clone of the last commit, line by line
fresh-clone:
	scripts/fresh-clone.sh

## templates-check: servers of `assay new` whose packages come from registries, built and measured (a few minutes)
templates-check:
	$(CARGO) test -p assay --test it --locked -- --ignored new::

## package-check: install from a clean clone into an empty folder, and use what is there
package-check:
	scripts/package-check.sh

## install: build, and install into PREFIX (/usr/local; for you alone $HOME/.local): binary, preload library, manual page, completions
# Under sudo nothing is built: cargo would run as root, and what it leaves in the target folder would be root's.
install: $(if $(SUDO_UID),built-before,shared-files)
	install -D -t $(DESTDIR)$(PREFIX)/bin $(ASSAY)
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/lib/assay $(TARGET)/release/libassay_preload.so
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man1 $(TARGET)/package/assay.1
	install -D -m 644 $(TARGET)/package/assay.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/assay
	install -D -m 644 -t $(DESTDIR)$(ZSH_FUNCTIONS) $(TARGET)/package/_assay
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d $(TARGET)/package/assay.fish

built-before:
	@for file in $(ASSAY) $(TARGET)/release/libassay_preload.so $(TARGET)/package/assay.1; do \
		[ -e $$file ] || { echo "make install: $$file is not there; first build without sudo: make shared-files" >&2; exit 1; }; \
	done

## shared-files: build what `sudo make install` installs
# The manual page and the completions, which the binary writes itself.
shared-files: binary
	mkdir -p $(TARGET)/package
	$(ASSAY) man -o $(TARGET)/package/assay.1
	$(ASSAY) completions bash -o $(TARGET)/package/assay.bash
	$(ASSAY) completions zsh -o $(TARGET)/package/_assay
	$(ASSAY) completions fish -o $(TARGET)/package/assay.fish

## deb: a Debian package in target/debian (Debian: dpkg-dev)
deb:
	scripts/deb.sh $(TARGET)/debian $(VERSION)

## static: one binary that runs on any Linux, with the preload library inside (needs musl-tools and `rustup target add x86_64-unknown-linux-musl`)
static:
	$(CARGO) build --release --locked -p assay --target $(MUSL)

## ui: rebuild the report page after a change in report-ui
ui:
	cd report-ui && npm ci --no-audit --no-fund
	$(XTASK) ui

## clean: remove everything that was built; runs/ stays
clean:
	$(CARGO) clean
	rm -rf contenders/*/build contenders/*/*/build contenders/*/*/node_modules report-ui/node_modules report-ui/dist

## help: these lines
help:
	@sed -n 's/^## /  make /p' Makefile
