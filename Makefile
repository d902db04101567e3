# Every recipe sets up what it needs: a virtual environment in .venv, pyproject.toml's dependency groups,
# and the extension module built by maturin. `make help` lists the recipes.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ACTIVE := VIRTUAL_ENV=$(abspath $(VENV)) PATH="$(abspath $(BIN)):$$PATH"
WHEEL_LIMIT_MB := 20 # 16 today, with the client of HDFS
GLIBC := 2.17
ARCH := $(shell uname -m)
VERSITYGW := github.com/versity/versitygw/cmd/versitygw@v1.8.0
BENCH_DATA := benches/data
# live files of the logs of `make bench`; the largest takes 1.5 GB of disk, and minutes to generate
SIZES ?= 10000,100000,1000000,10000000
# the PySpark of the extra spark-tests; the oldest and the newest, which CI also tests; and all others
SPARK := 4.2
SPARKS := 3.5 4.3
ALL_SPARKS := 3.5 4.0 4.1 4.3
FUZZ ?= 10000000
ON_SPARK = $(ACTIVE) PYSPARK_PYTHON=$(abspath $(BIN))/python
# Processes, each of which runs one file at a time. On two cores, four use the time in which tests wait;
# with Spark, each process has a JVM of up to 3 GB, which is slow at first.
IN_TWO := --numprocesses 2 --dist loadfile
IN_FOUR := --numprocesses 4 --dist loadfile

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-full test-nightly setup compile-all packages test-rust-python test-rust-stores test-rust test-python test-stores test-spark test-spark-full test-faults fuzz lint lint-rust lint-python advisories notices docs format bench bench-spark build compile wheel wheels clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## build, install, read the sample table into Arrow and Spark, run a pipeline
	$(MAKE) --jobs 3 $(VENV)/.spark compile # pip builds PySpark on one core, and the last crates compile on one
	$(MAKE) build
	$(ACTIVE) PYSPARK_PYTHON=$(abspath $(BIN))/python python demo/demo.py

test: export NOT_SLOW := -m "not slow"
test: export QUIET := --quiet
test: export DELTAREPLAY_EXAMPLES ?= 30
test: test-rust-python test-spark ## build, install and run all tests that are not slow, of those of Spark a sample

# setup first, so that test-python skips nothing that needs PySpark or boto3
test-full: setup test-rust-stores test-python test-spark-full ## all of these, object stores, and Spark in full: what CI runs

test-nightly: ## all PySparks, everything without delta-spark's jar, long fault tests: for hours
	cp Cargo.lock fuzz # so that it finds what is compiled already
	cargo check --profile quick --manifest-path fuzz/Cargo.toml --target-dir "$${CARGO_TARGET_DIR:-target}"
	$(MAKE) test-full test-faults DELTAREPLAY_NIGHTLY=1 DELTAREPLAY_EXAMPLES=1000 SPARKS="$(ALL_SPARKS)"

# pip and npm run while crates compile, since each leaves a core idle at times
setup: $(VENV)/.maturin
	$(MAKE) --jobs 3 --output-sync compile-all packages $(SPARKS:%=$(VENV)/.spark-%)

compile-all:
	$(MAKE) compile
	cargo test --profile quick --workspace --exclude deltareplay-bindings --no-run

packages:
	for stamp in dev stores spark servers; do $(MAKE) $(VENV)/.$$stamp || exit 1; done

# The core's tests compile on little more than a core, and those of stores wait for servers.
test-rust-python: build
	$(MAKE) --jobs 2 test-rust test-python

test-rust-stores: build
	$(MAKE) --jobs 2 --output-sync test-rust test-stores

test-rust: build # before it, as cargo lets only one of two builds work; rustdoc cannot use make's job server
	MAKEFLAGS= cargo test $(QUIET) --profile quick --workspace --exclude deltareplay-bindings

test-python: $(VENV)/.dev build
	$(ACTIVE) python -m pytest --ignore tests/spark --ignore tests/stores $(IN_FOUR) $(NOT_SLOW)

test-stores: $(VENV)/.dev $(VENV)/.stores $(VENV)/.servers $(VENV)/.spark build ## S3, Azure, Google Cloud Storage and HDFS, as servers on this machine
	$(ACTIVE) python -m pytest tests/stores --numprocesses 2

test-spark: $(VENV)/.dev $(VENV)/.spark build ## one test of each file, compared with delta-spark, on one PySpark
	$(ON_SPARK) DELTAREPLAY_SHORT=1 python -m pytest tests/spark $(IN_TWO)

test-spark-full: $(VENV)/.dev $(VENV)/.spark $(SPARKS:%=$(VENV)/.spark-%) build ## all tests, compared with delta-spark; the oldest and the newest PySpark
	$(ON_SPARK) DELTAREPLAY_SPARKS="$(foreach version,$(SPARKS),$(version)=$(abspath $(VENV))/spark-$(version)/bin/python)$(if $(DELTAREPLAY_NIGHTLY), $(SPARK)=$(abspath $(BIN))/python)" python -m pytest tests/spark $(IN_TWO)

test-faults: $(VENV)/.dev $(VENV)/.stores $(VENV)/.servers $(VENV)/.spark build ## the fault tests in full, for hours: docs/concepts/reliability.md; root for power cuts
	$(ACTIVE) DELTAREPLAY_SLOW=1 DELTAREPLAY_KILLS=500 DELTAREPLAY_POWER_CUTS=100 python -m pytest -rP tests/faults
	$(ACTIVE) DELTAREPLAY_WRITERS=16 DELTAREPLAY_COMMITS=50 python -m pytest tests/concurrency
	$(ACTIVE) DELTAREPLAY_WRITERS=16 DELTAREPLAY_COMMITS=20 python -m pytest tests/stores
	$(ACTIVE) DELTAREPLAY_HISTORIES=10000 python -m pytest tests/property/test_retained.py
	$(ON_SPARK) DELTAREPLAY_SLOW=1 DELTAREPLAY_SEQUENCES=50 DELTAREPLAY_STEPS=20 python -m pytest tests/spark/test_sequences.py tests/spark/test_killed_drivers.py tests/spark/test_executors.py
	DELTAREPLAY_SIMULATIONS=2000 cargo test --profile quick -p deltareplay-core --test it simulation

fuzz: ## each fuzz target ten million times, for hours; FUZZ sets the number
	DELTAREPLAY_FUZZ=$(FUZZ) cargo test --release -p deltareplay-core --test it fuzz:: -- --nocapture

lint: $(VENV)/.dev $(VENV)/.installed ## formatting, lints, types, spelling, the site
	$(MAKE) --jobs 2 --output-sync lint-rust lint-python docs

lint-rust:
	cargo fmt --all --check
	cargo clippy --profile quick --workspace --all-targets -- -D warnings

advisories: ## known vulnerabilities of the dependencies, by cargo-deny; needs their database, which is on GitHub
	cargo deny --all-features check

notices: ## write the licences and notices of the crates that the wheel is linked from
	$(PYTHON) rust/third_party_notices.py

lint-python: $(VENV)/.dev $(VENV)/.installed
	$(ACTIVE) ruff check .
	$(ACTIVE) ruff format --check .
	$(ACTIVE) mypy
	$(ACTIVE) typos
	$(ACTIVE) check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(ACTIVE) check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff

docs: $(VENV)/.dev ## build the site into site/; fails on broken links
	$(ACTIVE) NO_MKDOCS_2_WARNING=1 mkdocs build --strict --quiet

format: $(VENV)/.dev ## format the code as `make lint` requires
	cargo fmt --all
	$(ACTIVE) ruff format .
	$(ACTIVE) ruff check --fix .

bench: $(VENV)/.bench ## compare time and memory with other libraries; writes benches/results/index.html and remote.html
	cargo build --profile dist --package deltareplay-benches --bins
	$(ACTIVE) maturin develop --profile dist --skip-install
	$(ACTIVE) python benches/python/run.py --data $(BENCH_DATA)
	$(ACTIVE) python benches/python/rows.py --data $(BENCH_DATA)
	$(ACTIVE) python benches/python/changes.py --data $(BENCH_DATA)
	$(ACTIVE) python benches/python/remote.py
	$(ACTIVE) python benches/python/sizes.py --data $(BENCH_DATA) --sizes $(SIZES)

bench-spark: $(VENV)/.bench $(VENV)/.spark ## compare reads in Spark with delta-spark and bare Parquet
	$(ACTIVE) maturin develop --profile dist --skip-install
	$(ACTIVE) PYSPARK_PYTHON=$(abspath $(BIN))/python python benches/python/spark.py --data $(BENCH_DATA)
	$(ACTIVE) PYSPARK_PYTHON=$(abspath $(BIN))/python python benches/python/spark_changes.py --data $(BENCH_DATA)
	$(ACTIVE) PYSPARK_PYTHON=$(abspath $(BIN))/python python benches/python/statements.py --data $(BENCH_DATA)

wheel: wheel-$(ARCH) ## build dist/*.whl for this machine; check its size, its licence and glibc 2.17

wheels: wheel-x86_64 wheel-aarch64 ## the wheels of Linux, for both processors

wheel-%: $(VENV)/.zig # whose linker knows the symbols of every glibc
	! command -v rustup >/dev/null || rustup target add $*-unknown-linux-gnu
	rm -f dist/*_$*.whl
	$(ACTIVE) maturin build --profile dist --out dist --zig --target $*-unknown-linux-gnu --compatibility manylinux_$(subst .,_,$(GLIBC))
	$(ACTIVE) python tests/support/wheels.py dist/*_$*.whl --glibc $(GLIBC) --megabytes $(WHEEL_LIMIT_MB)

clean: ## remove everything that these recipes made
	rm -rf target dist site $(VENV) $(BENCH_DATA) .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -rf spark-warehouse metastore_db derby.log python/deltareplay/_native*.so
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- set-up; a stamp is made again if pyproject.toml changes

build: $(VENV)/.installed compile

compile: $(VENV)/.maturin
	@$(ACTIVE) maturin develop --profile quick --skip-install

$(VENV)/.installed: $(VENV)/.maturin pyproject.toml
	$(ACTIVE) maturin develop --profile quick
	touch $@

$(VENV)/.maturin:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Python 3.10 or later is needed")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade "pip>=25.1" "maturin>=1.10,<2"
	touch $@

$(VENV)/.zig: $(VENV)/.maturin
	$(BIN)/pip install --quiet ziglang
	touch $@

$(VENV)/.dev: GROUPS := dev docs
$(VENV)/.bench: GROUPS := bench
$(VENV)/.spark: GROUPS := spark-tests demo # the demo takes the tests' PySpark, so that one is enough
$(VENV)/.stores: GROUPS := stores
$(VENV)/.dev $(VENV)/.bench $(VENV)/.spark $(VENV)/.stores: $(VENV)/.maturin pyproject.toml
	$(BIN)/pip install --quiet $(GROUPS:%=--group %)
	touch $@

# Each other PySpark in a separate environment: the oldest and 4.0 with pandas 2, the others with the
# newest pandas; 3.5 imports distutils, which setuptools has.
$(VENV)/.spark-3.5: NEEDS := "pyspark==3.5.9" "pandas>=2.2,<3" setuptools
$(VENV)/.spark-4.0: NEEDS := "pyspark[connect]==4.0.5" "pandas>=2.2,<3"
$(VENV)/.spark-4.1: NEEDS := "pyspark[connect]==4.1.4" pandas
$(VENV)/.spark-4.3: NEEDS := "pyspark[connect]==4.3.0" pandas
$(ALL_SPARKS:%=$(VENV)/.spark-%): $(VENV)/.spark-%: $(VENV)/.maturin
	$(PYTHON) -m venv $(VENV)/spark-$*
	$(VENV)/spark-$*/bin/pip install --quiet $(NEEDS) "pyarrow>=15"
	touch $@

$(VENV)/.servers: $(VENV)/.maturin
	npm install --silent --no-fund --no-audit --prefix $(VENV)/stores azurite@3 \
		|| echo 'Azurite could not be installed by npm: the tests of Azure will be skipped.'
	GOBIN=$(abspath $(VENV))/stores go install -trimpath -ldflags='-s -w' $(VERSITYGW) \
		|| echo 'versitygw could not be built by go: S3 is tried on moto alone.'
	touch $@
