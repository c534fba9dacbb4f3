# Everything a fresh machine needs: `make demo` runs the main job, `make test` passes the tests.

CARGO ?= cargo
# Where the tests find PostgreSQL's server and isolationtester.
export PG_BINDIR ?= $(lastword $(sort $(wildcard /usr/lib/postgresql/*/bin)))

.PHONY: demo test models flakes fuzz guards torture bench peers build setup check lint clean

demo: build ## Repeats the commit-path experiments quickly, on the embedded engine; report/index.html shows them.
	target/release/cohort lab run all --quick --out report

test: setup lint ## All tests.
	@scripts/setup.sh tests
	$(CARGO) xtask floors
	$(CARGO) xtask links
	$(CARGO) xtask prose
	$(CARGO) test --workspace
	scripts/shuttle.sh
	scripts/loom.sh

models: setup ## Of the tests, the concurrent state machines under the shuttle scheduler, and memory orderings under loom.
	scripts/shuttle.sh
	scripts/loom.sh

flakes: setup ## The whole test suite in a loop under processor load for an hour. HOURS=8 ROUNDS=3 LOAD=4 FILTER=name: options.
	@scripts/setup.sh tests
	scripts/flakes.sh

fuzz: setup ## Every decoder of foreign bytes under a fuzzer, a minute each.
	scripts/fuzz.sh

guards: setup ## The random comparisons with a PostgreSQL that scripts/guards.sh lists, for an hour each. SECONDS_EACH=60 FROM=1 GUARDS=dumps: options.
	@scripts/setup.sh tests
	SECONDS_EACH=$${SECONDS_EACH:-3600} scripts/guards.sh $(GUARDS)

# Its options: SECONDS, SEED, and in TORTURE any others, such as --without=kill,checkpoint.
SECONDS ?= 3600
torture: build ## Tortures a server process for an hour and holds all it answers against a model. SECONDS=60 SEED=1 TORTURE=--without=kill: options.
	$(CARGO) run --release -p cohort-torture -- --server target/release/cohort --seconds $(SECONDS) $(if $(SEED),--seed $(SEED)) $(TORTURE)

bench: build ## The figures the project watches, beside the baseline's and a PostgreSQL's.
	scripts/bench.sh

# RocksDB's checksums use instructions that the compiler must be told of.
peers: export CXXFLAGS := $(CXXFLAGS) $(if $(filter x86_64,$(shell uname -m)),-msse4.2 -mpclmul)
peers: ## Small durable transactions on Cohort and other embedded engines. Builds RocksDB, which takes long. PEERS=--quick: options.
	@scripts/setup.sh peers
	mkdir -p report
	cd peers && $(CARGO) run --release -- --dir ../report --out ../report $(PEERS)

build: setup ## The release binary, target/release/cohort.
	$(CARGO) build --release -p cohort

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(CARGO) check --quiet --manifest-path fuzz/Cargo.toml --target-dir target

setup: ## Installs what is missing, or says what to install.
	@scripts/setup.sh

clean:
	$(CARGO) clean
