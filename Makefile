# Two commands do everything: `make showdown` and `make test`. Both set up what they need first.
.PHONY: showdown test setup build lint ui clean help

TARGET := $(or $(CARGO_TARGET_DIR),target)
ASSAY := $(TARGET)/release/assay
CARGO := cargo
XTASK := $(CARGO) xtask

## showdown: set up, run the main job (about 4 minutes after compilation), leave report.html
showdown: build
	$(ASSAY) run -e showdown -o report.html

## setup: install what every contender needs that Debian has, also those outside the showdown
setup:
	scripts/setup.sh all

## build: install what is missing and build assay
build:
	scripts/setup.sh showdown
	$(CARGO) build --release --locked -p assay -p assay-preload

## test: set up, then every check and every test
test:
	scripts/setup.sh test
	@# All at once: what cargo builds for a package alone has other features, and is compiled once more.
	$(CARGO) build --workspace --bins --tests --examples --locked
	$(MAKE) lint XTASK=$(TARGET)/debug/xtask
	$(CARGO) test --workspace --locked
	cd report-ui && npm ci --no-audit --no-fund && npm test && npm run e2e
	$(TARGET)/debug/xtask ui --check

## lint: layers, manners, format, lints, generated files
lint:
	$(XTASK) tidy
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(XTASK) schemas --check

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
