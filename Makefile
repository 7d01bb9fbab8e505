# The front door. Everything it does is a line of Meson; what a fresh Debian 12 lacks is installed first (tools/setup.sh).
#
#   make            builds everything                      make run        rain on real mountains, on 4 ranks: a picture and its numbers
#   make test       builds and runs the tests              make test-long  the long ones
#   make bench      this machine's limits and our figures beside them; then mpt beside the MPI libraries that PyPI has
#   make install PREFIX=DIR [DESTDIR=STAGE]                a release build; the tree may be moved afterwards
#   make asan | tsan | clang | tidy                        sanitizers, the other compiler, clang-tidy
#   make over-streams                                      tests over streams, for a build with -Dover_streams=false
#   make format | docs | clean                             formats; renews generated lists and pages; removes build folders
#
# MESON_OPTIONS goes to `meson setup`, NINJA_FLAGS to ninja, TEST_FLAGS to `meson test`, BENCH_FLAGS (--quick) to both benchmarks; BUILD
# names the build folder.

PREFIX ?= /usr/local
BUILD ?= build
MESON_OPTIONS ?=
NINJA_FLAGS ?=
TEST_FLAGS ?=
BENCH_FLAGS ?=
export PATH := $(CURDIR)/.venv/bin:$(PATH)

SUITES := unit model stress proc example lint
TEST := meson test --print-errorlogs $(TEST_FLAGS)
# Builds that only check keep line numbers and leave out the rest of what a debugger wants, which takes a quarter of a compile.
LINES := -Ddebug=false -Dcpp_args=-g1
# Sanitized programs are large and many: lld links them in two fifths of the time.
LLD := CXX_LD=lld

.PHONY: all setup run test test-long bench install over-streams asan asan-build asan-rest tsan tsan-build clang tidy format docs clean
all: $(BUILD)/build.ninja
	ninja -C $(BUILD) $(NINJA_FLAGS)

setup:
	@tools/setup.sh

$(BUILD)/build.ninja: | setup
	meson setup $(MESON_OPTIONS) $(BUILD)

run: $(BUILD)/build.ninja
	ninja -C $(BUILD) $(NINJA_FLAGS) src/mptrun/mptrun examples/flood/flood
	$(BUILD)/src/mptrun/mptrun -n 4 $(BUILD)/examples/flood/flood examples/flood/terrain.pgm $(BUILD)/flood.png

test: all
	$(TEST) -C $(BUILD) $(addprefix --suite ,$(SUITES))

test-long: all
	$(TEST) -C $(BUILD) --logbase testlog-long --suite long

build-release/build.ninja: | setup
	meson setup --buildtype=release -Dtests=false build-release

bench: build-release/build.ninja
	ninja -C build-release all bench
	python3 bench/run.py --build build-release $(BENCH_FLAGS)
	python3 bench/peers/peers.py --build build-release $(BENCH_FLAGS)

# For a build that left them out.
over-streams: $(BUILD)/build.ninja
	meson configure $(BUILD) -Dover_streams=true
	ninja -C $(BUILD) $(NINJA_FLAGS)
	python3 tools/built_tests.py $(BUILD) $(SUITES) | grep 'over streams' | \
	  xargs -d '\n' $(TEST) -C $(BUILD) --no-rebuild --logbase testlog-over-streams

build-install/build.ninja: | setup
	meson setup --buildtype=release -Dtests=false -Dexamples=false --prefix='$(abspath $(PREFIX))' build-install

install: build-install/build.ninja
	meson configure build-install --prefix='$(abspath $(PREFIX))'
	ninja -C build-install $(NINJA_FLAGS)
	meson install -C build-install

# By clang, so that everything is seen by a second compiler too: benchmarks, and each header alone.
build-asan/build.ninja: | setup
	$(LLD) CC=clang-16 CXX=clang++-16 meson setup -Db_sanitize=address,undefined -Db_lundef=false -Doptimization=0 -Dbench=true \
	  -Dover_streams=false $(LINES) $(MESON_OPTIONS) build-asan

# Tests first, and some after the other from source to program, so that a build that is cut short has what can be run: ninja by itself
# links last. What is left, `asan-rest` does.
SOME := xargs -n 32
ASAN_SUITES := unit stress proc example
asan-build: build-asan/build.ninja
	ninja -C build-asan build.ninja # what there is to test is as the tree says now
	python3 tools/test_targets.py build-asan $(ASAN_SUITES) | $(SOME) ninja -C build-asan $(NINJA_FLAGS)

asan-rest: build-asan/build.ninja
	ninja -C build-asan $(NINJA_FLAGS)
	$(TEST) -C build-asan --no-rebuild --logbase testlog-alone --suite alone

asan: asan-build asan-rest
	$(TEST) -C build-asan --no-rebuild --timeout-multiplier 4 $(addprefix --suite ,$(ASAN_SUITES))

build-tsan/build.ninja: | setup
	$(LLD) meson setup -Db_sanitize=thread -Db_lundef=false -Doptimization=1 $(LINES) -Dalone=false -Dexamples=false \
	  -Dover_streams=false $(MESON_OPTIONS) build-tsan

# ThreadSanitizer knows where programs lie only without address randomization of more than 28 bits.
TSAN_SUITES := unit stress tsan
tsan-build: build-tsan/build.ninja
	ninja -C build-tsan build.ninja # what there is to test is as the tree says now
	python3 tools/test_targets.py build-tsan $(TSAN_SUITES) | $(SOME) ninja -C build-tsan $(NINJA_FLAGS)

tsan: tsan-build
	$$(setarch -R true 2>/dev/null && echo setarch -R) $(TEST) -C build-tsan --no-rebuild --timeout-multiplier 4 \
	  $(addprefix --suite ,$(TSAN_SUITES))

build-clang/build.ninja: | setup
	CXX=clang++-16 meson setup -Doptimization=0 -Dbench=true -Dover_streams=false $(LINES) -Dalone=false $(MESON_OPTIONS) build-clang

clang: build-clang/build.ninja
	ninja -C build-clang $(NINJA_FLAGS)

tidy: all
	python3 tools/check_tidy.py . $(BUILD)

format: setup
	clang-format-16 -i $$(python3 tools/sources.py)

docs: $(BUILD)/build.ninja
	python3 tools/update_list.py
	python3 tools/check_sync.py --list . > docs/memory-order.md
	python3 bindings/c/generate.py --what coverage docs/coverage-mpi.md
	ninja -C $(BUILD) src/mptinfo/mptinfo src/mptrun/mptrun
	python3 tools/check_page.py --write $(BUILD)/src/mptinfo/mptinfo docs/environment.md
	python3 tools/check_page.py --write $(BUILD)/src/mptrun/mptrun docs/mptrun.md

clean:
	rm -rf build build-asan build-tsan build-clang build-release build-install
