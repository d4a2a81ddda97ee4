# Every task has one name, here. `make help` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help

NATIVE := packages/portico/native/portico.linux-$(shell uname -m | sed 's/x86_64/x64/;s/aarch64/arm64/')-gnu.node
NODE ?= node
EXAMPLE ?= express-site

.PHONY: help build binaries typescript generate run known-example test test-rust test-typescript test-software matrix matching soak bench check check-static fuzz asan package test-platforms node-suite framework-suite cache-tests bogo limbo clean

help: ## list the tasks
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 20

build: binaries typescript ## build everything in release mode

# One call of cargo: two would build what both need twice, with other features.
binaries: ## build the Node-API add-on and the host, target/release/portico
	@scripts/need.sh cc=gcc
	@command -v cargo >/dev/null || { echo 'Rust is missing: install it with rustup (https://rustup.rs), then try again.' >&2; exit 1; }
	cargo build --release --locked -p portico-node -p portico-cli
	@mkdir -p packages/portico/native
	@cp target/release/libportico_node.so $(NATIVE).new && mv $(NATIVE).new $(NATIVE)

node_modules/.package-lock.json: package.json package-lock.json $(wildcard packages/*/package.json examples/*/package.json)
	npm ci --no-audit --no-fund
	@touch $@

typescript: node_modules/.package-lock.json ## compile the TypeScript package
	npx tsc -p packages/portico

generate: ## write the copies of tables that Rust owns (TypeScript, docs/configuration.md, docs/records.md)
	cargo run -q --locked -p xtask -- generate

run: known-example build ## serve the example site on http://localhost:8080 and https://localhost:8443 (EXAMPLE=name for another)
	@scripts/need.sh openssl
	@exec $(NODE) --import portico/register examples/$(EXAMPLE)/start.mjs

known-example:
	@[ -f examples/$(EXAMPLE)/start.mjs ] || { echo "There is no example $(EXAMPLE). These are: $$(ls examples/*/start.mjs | cut -d/ -f2 | paste -sd' ')" >&2; exit 1; }

test: test-rust test-typescript test-software ## build and pass everything

test-rust: ## Rust tests
	@scripts/need.sh cc=gcc openssl curl
	cargo test --locked --workspace
	RUSTFLAGS="--cfg loom" cargo test --locked --release -p portico-channel --test loom --target-dir target/loom

test-typescript: build ## TypeScript unit tests, on this machine's Node
	@scripts/need.sh openssl curl
	$(NODE) --test $$(find packages/portico/test -name '*.test.*') tests/wire/check-node.mjs tests/framing/check.mjs bench/test/*.test.mjs
	PORTICO_REQUIRE=1 $(NODE) --import ./packages/portico/dist/register.js --test tests/wire/check-portico.mjs tests/framing/check.mjs
	PORTICO_THREADS=1 PORTICO_REQUIRE=1 $(NODE) --import ./packages/portico/dist/register.js --test tests/wire/check-portico.mjs tests/framing/check.mjs

tests/node_modules/.package-lock.json: tests/package.json tests/package-lock.json
	@# Not `npm ci`: it refuses a lock file without the optional packages of other platforms, which not every registry has.
	@# What is tested needs no install scripts, and some of them would load programs from elsewhere.
	cd tests && npm install --no-save --ignore-scripts --no-audit --no-fund
	@touch $@

test-software: build tests/node_modules/.package-lock.json ## real clients, frameworks and package managers, on this machine's Node, 24 and 26
	@scripts/need.sh openssl curl wrk chromium strip=binutils go=golang-go h2load=nghttp2-client
	$(NODE) tests/run.mjs

matrix: build tests/node_modules/.package-lock.json ## every row of the hostile matrix on three Nodes, and the rows about memory (PART=1/100 for a part, SECONDS=1200 for so long)
	$(NODE) tests/robustness/matrix/run.mjs --memory $(if $(PART),--part $(PART)) $(if $(SECONDS),--seconds $(SECONDS))

matching: build tests/node_modules/.package-lock.json ## the load test in which each answer names its request (SECONDS=600)
	$(NODE) tests/robustness/matching/run.mjs --seconds $(or $(SECONDS),600)

soak: build ## resident memory over a million requests and more (REQUESTS=1000000)
	@scripts/need.sh wrk
	$(NODE) tests/robustness/leak.mjs $(or $(REQUESTS),1000000)

bench: build ## compare CPU per request with the peers; writes bench/RESULTS.md
	bash bench/run.sh

check: check-static test ## formatting, lints, types, docs, generated files, tests

check-static: typescript ## what `check` does without running tests
	cargo fmt --all --check
	cargo clippy --locked --workspace --lib --bins --examples --tests -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps
	cargo run -q --locked -p xtask -- check

fuzz: ## fuzz every target (SECONDS_EACH=600)
	@scripts/need.sh c++=g++
	bash fuzz/run.sh $(or $(SECONDS_EACH),600)

asan: build ## the add-on and the host under AddressSanitizer
	@scripts/need.sh cc=gcc openssl
	scripts/asan.sh

PLATFORMS ?= linux-x64-gnu linux-arm64-gnu linux-x64-musl linux-arm64-musl

package: typescript ## the tarballs that npm installs, for every platform, into dist/ (PLATFORMS=linux-x64-gnu for one; needs rustup)
	packaging/npm/build.sh $(PLATFORMS)
	rm -rf dist
	$(NODE) packaging/npm/package.mjs $(PLATFORMS)

test-platforms: package ## install the packages of every platform and serve with them, arm64 under emulation
	@scripts/need.sh openssl curl python3 patchelf
	$(NODE) tests/platforms/run.mjs

node-suite: ## run Node's own http tests: make node-suite SUITE=DIR [SUITE_NODE=node]
	@test -n "$(SUITE)" || { echo "usage: make node-suite SUITE=DIR (see conformance/node-suite/README.md)"; exit 2; }
	$(MAKE) build
	$(NODE) conformance/node-suite/run.mjs --suite "$(SUITE)" --node "$(or $(SUITE_NODE),$(NODE))"

framework-suite: ## run a framework's own tests: make framework-suite NAME=express|fastify|koa|ws SUITE=DIR [SUITE_NODE=node]
	@test -n "$(SUITE)" -a -n "$(NAME)" || { echo "usage: make framework-suite NAME=NAME SUITE=DIR (see conformance/suites/README.md)"; exit 2; }
	$(MAKE) build
	$(NODE) conformance/suites/run.mjs --suite "$(NAME)" --dir "$(SUITE)" --node "$(or $(SUITE_NODE),$(NODE))"

cache-tests: ## run the tests of cache-tests.fyi against a host: make cache-tests SUITE=DIR
	@test -n "$(SUITE)" || { echo "usage: make cache-tests SUITE=DIR (see conformance/cache-tests/README.md)"; exit 2; }
	$(MAKE) build
	$(NODE) conformance/cache-tests/run.mjs --suite "$(SUITE)"

bogo: ## run BoringSSL's TLS tests: make bogo SUITE=DIR
	@test -n "$(SUITE)" || { echo "usage: make bogo SUITE=DIR (see conformance/tls/bogo/README.md)"; exit 2; }
	cargo build --profile quick --locked -p portico-tls --example bogo_shim
	$(NODE) conformance/tls/bogo/run.mjs --suite "$(SUITE)"

limbo: ## put x509-limbo's certificate chains to our verifier and to OpenSSL: make limbo SUITE=DIR
	@test -n "$(SUITE)" || { echo "usage: make limbo SUITE=DIR (see conformance/tls/limbo/README.md)"; exit 2; }
	@scripts/need.sh openssl
	cargo build --locked -p portico-x509 --example judge
	$(NODE) conformance/tls/limbo/run.mjs --suite "$(SUITE)"

clean: ## remove what was built
	cargo clean
	rm -rf packages/*/dist packages/*/native node_modules tests/node_modules
