# SPDX-License-Identifier: GPL-3.0-or-later
# A thin front-end over the CMake presets. `make help` lists the targets.
#   PREFIX=DIR DESTDIR=DIR   where `make install` puts things
#   CMAKE_ARGS="-D..."       handed to CMake; CMAKE_PREFIX_PATH and CC are read from the environment
#   JOBS=N                   parallel compile jobs (default: all cores); one more test than that runs at a time
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
# Tests wait for ranks to start, for disks and for timers about as long as they compute.
TEST_JOBS = $(shell expr $(JOBS) + 1)
CMAKE_ARGS ?=
WHAT ?= required optional test
LIST ?=

.DEFAULT_GOAL := build
.PHONY: help setup build build-sanitize demo check check-testbed check-gpu bench bench-peers bench-gpu install uninstall package docs site format clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 24

setup: ## install what is missing, from packages.txt (LIST=1: only print the list)
	@tools/setup $(if $(LIST),--list required optional test testbed,$(WHAT))

# Configure quietly (reporting what is switched off), compile quietly (warnings go to stderr).
define compile
@mkdir -p $(2)
@cmake --preset $(1) $(CMAKE_ARGS) >$(2)/configure.log 2>&1 || { cat $(2)/configure.log >&2; exit 1; }
@grep '^-- tutti:' $(2)/configure.log || true
@cmake --build $(2) -j $(JOBS) >$(2)/build.log || { grep -i error $(2)/build.log >&2; exit 1; }
endef

build: ## compile build/tutti; never installs anything
	$(call compile,release,build)

build-sanitize:
	$(call compile,sanitize,build-sanitize)

demo: ## set up, build, run a small overlapped job, then one alone and with others around it
	@tools/setup required optional
	@$(MAKE) --no-print-directory build
	build/tutti run stencil -n 2 --size 1024 --iterations 400 --work 400 --write every=20 --mode async+bg --layers throttle --throttle.rate 50m --min-free 1g
	build/tutti ensemble balanced --solo-time 2s --repeat 6 --min-free 1g
	@build/tutti report || build/tutti report --format text

check: ## set up, build, run the tests, and some of them under the sanitizers
	@tools/setup required optional test
	@$(MAKE) --no-print-directory build build-sanitize
	@tools/check build --label-exclude testbed -j $(TEST_JOBS)
	@tools/check build-sanitize --label-regex sanitize -j $(TEST_JOBS)

check-testbed: ## tests that need root, throttled devices, daemons or many kills
	@tools/setup required optional test testbed
	@$(MAKE) --no-print-directory build
	@tools/check build --label-regex testbed -j $(JOBS)

bench: ## the figures of speed, as ratios inside one run (ONLY="transfers": only those)
	@tools/setup required optional test
	@$(MAKE) --no-print-directory build
	@bench/run.sh build $(ONLY)

bench-peers: build ## the dialects beside original programs: IOR=PATH MDTEST=PATH ... make bench-peers
	@bench/peers build

check-gpu: build ## the tests of devices on an NVIDIA GPU
	@DEVICE=cuda tools/check build --tests-regex '^program\.device$$|^conformance\.|^kernels\.' --exclude-regex '^conformance\.device$$'

bench-gpu: build ## the figures of speed on an NVIDIA GPU
	@bench/run.sh build gpu

install: build ## to PREFIX (and DESTDIR)
	@tools/install build $(PREFIX)

uninstall: ## what `make install` has put to PREFIX (and DESTDIR)
	@tools/install --remove $(PREFIX)

package: build ## a .deb and a source package, in build/packages
	@cd build && cpack -G DEB >package.log 2>&1 || { cat package.log >&2; exit 1; }
	@cd build && cpack --config CPackSourceConfig.cmake >package.log 2>&1 || { cat package.log >&2; exit 1; }
	@rm -rf build/packages/_CPack_Packages && ls build/packages/*

docs: build ## regenerate docs/reference.md and the table of docs/metrics.md from the tables in the source
	@build/tutti help --markdown >build/reference.md && mv build/reference.md docs/reference.md
	@awk -f docs/metrics.awk docs/reference.md docs/metrics.md >build/metrics.md && mv build/metrics.md docs/metrics.md

site: ## the documentation as HTML, in build/site (needs npm)
	@docs/site/make build/site build/site-work

format: ## run clang-format over the sources
	@git ls-files '*.c' '*.h' | xargs clang-format -i

clean: ## remove the build trees
	@rm -rf build build-sanitize build-coverage
