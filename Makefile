# Two commands do everything: `make showdown` and `make test`. Both set up what they need first.
.PHONY: showdown test setup build lint ui clean help

ASSAY := target/release/assay
CARGO := cargo

## showdown: set up, run the main job (about 4 minutes after compilation), leave report.html
showdown: build
	$(ASSAY) run -e showdown -o report.html

## setup: install what every contender needs that Debian has, also those outside the showdown
setup:
	scripts/setup.sh all

## build: install what is missing and build assay
build:
	scripts/setup.sh showdown
	$(CARGO) build --release --locked --bin assay
	$(CARGO) build --release --locked -p assay-preload

## test: set up, then every check and every test
test:
	scripts/setup.sh test
	$(MAKE) lint
	$(CARGO) test --workspace --locked
	cd report-ui && npm ci --no-audit --no-fund && npm test && npm run e2e
	$(CARGO) xtask ui --check

## lint: layers, manners, format, lints, generated files
lint:
	$(CARGO) xtask tidy
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) xtask schemas --check

## ui: rebuild the report page after a change in report-ui
ui:
	cd report-ui && npm ci --no-audit --no-fund
	$(CARGO) xtask ui

## clean: remove everything that was built; runs/ stays
clean:
	$(CARGO) clean
	rm -rf contenders/*/build contenders/*/*/build contenders/*/*/node_modules report-ui/node_modules report-ui/dist

## help: these lines
help:
	@sed -n 's/^## /  make /p' Makefile
