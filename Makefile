# Two commands on a fresh Debian machine, as root: "make demo" and "make test". Each does all of its own set-up.

SHELL       := /bin/bash
.SHELLFLAGS := -o pipefail -c
ifeq ($(HOME),)
export HOME := $(or $(shell getent passwd "$$(id -u)" | cut -d: -f6),/tmp)
endif

GO      := $(shell testbed/setup/go.sh --path)
BED     ?= /var/lib/fsub-bed
PREFIX  ?= /usr/local
LINKS   := sbatch squeue scancel sacct sinfo scontrol sacctmgr sshare sprio sstat seff sreport sdiag srun salloc sbcast sattach strigger scrontab
TOOLS   := bin/tools

# Without Google's gRPC client of blob stores (we use the HTTP one) and the debug pages of gRPC, whose templates would have the linker keep
# every method of every SDK: 36 MB instead of 88.
FED_TAGS := disable_grpc_modules,grpcnotrace,remote

# Golden cases and traces that do not belong to the project are used where they lie beside the checkout.
export FSUB_ORACLE ?= $(patsubst %/cli_golden,%,$(firstword $(wildcard $(abspath ..)/*/data/cli_golden)))
export FSUB_BED := $(BED)
export PATH := $(dir $(GO)):$(PATH):/usr/sbin:/sbin

# Git tells nothing of a checkout that belongs to somebody else, and Go then refuses to build.
ifeq ($(shell git rev-parse HEAD 2>/dev/null),)
export GOFLAGS := $(strip $(GOFLAGS) -buildvcs=false)
endif

export RELEASE
RELEASE_FLAGS := $(if $(RELEASE),-X fsub/cmd/internal/build.version=$(RELEASE))

.PHONY: packages release build python setup setup-build demo test test-changed test-full test-several race race-bed race-pure release-notes lint bench bench-place man docs-site image sbom install testbed-up testbed-down testbed-status fuzz clean

build: setup-build ## build bin/fsub, bin/fsub-remote and bin/fed-agent (static), bin/fed, and bin/bed, which is not installed
	@echo "building bin/fsub, bin/fsub-remote, bin/fed-agent, bin/fed and bin/bed"
	@CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w $(RELEASE_FLAGS)' -o bin/fsub ./cmd/fsub
	@CGO_ENABLED=0 $(GO) build -trimpath -tags remote -ldflags '-s -w $(RELEASE_FLAGS)' -o bin/fsub-remote ./cmd/fsub
	@CGO_ENABLED=0 $(GO) build -trimpath -tags remote -ldflags '-s -w $(RELEASE_FLAGS)' -o bin/fed-agent ./cmd/fed-agent
	@CGO_ENABLED=1 $(GO) build -trimpath -tags $(FED_TAGS) -ldflags '-s -w $(RELEASE_FLAGS)' -o bin/fed ./cmd/fed
	@CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o bin/bed ./testbed/bed/cmd
	@for l in $(LINKS); do ln -sf fsub bin/$$l; done

python: setup-build ## the wheels and sdists of the Python client and its plug-ins, into bin/python
	@testbed/setup/setup.sh python
	@testbed/setup/python.sh

setup: ## install what the build and the testbed need (compiler, Go, debootstrap ...)
	@testbed/setup/setup.sh

setup-build:
	@testbed/setup/setup.sh build

demo: build ## two real Slurm clusters, this machine, a stand-in for Amazon, the daemon, five jobs of an ordinary user; DAEMONS=3: several daemons on PostgreSQL, one is killed
	@testbed/demo/$(if $(DAEMONS),several.sh show $(DAEMONS),demo.sh)

testbed-up: setup build ## start the default sites; SITES="alpha gamma" or SITES=--all for others
	bin/bed up $(SITES)

testbed-down: build ## stop the demo's daemon, all sites, and what killed tests have left
	@testbed/demo/daemon.sh stop
	@testbed/demo/several.sh stop
	bin/bed down
	bin/bed down --abandoned

testbed-status: build
	bin/bed status

test: setup build ## everything that takes less than ten minutes, real Slurm of both versions included
	@testbed/setup/test.sh $(GO) -timeout 30m $(TESTFLAGS)

test-changed: setup build ## of test, what the files that differ from main can reach; CI tests everything
	@FSUB_CHANGED=1 testbed/setup/test.sh $(GO) -timeout 30m $(TESTFLAGS)

test-full: setup build ## test, and what takes longer: long fault runs, three daemons, the race detector on all packages
	@FSUB_FULL=1 testbed/setup/test.sh $(GO) -timeout 80m $(TESTFLAGS)
	$(MAKE) test-several
	$(MAKE) race

# What runs over real Slurm with one daemon, with three that share a PostgreSQL.
SEVERAL := arrays drain failing outage preempted rented rights situations spine starts told tree wiring

test-several: setup build ## tests over real Slurm with three daemons that share a PostgreSQL
	@testbed/setup/setup.sh testbed && testbed/setup/setup.sh test
	FSUB_DAEMONS=3 FSUB_BIN=$(CURDIR)/bin $(GO) test -timeout 40m -p 2 $(addprefix ./testbed/,$(SEVERAL))

race: setup build ## all packages under the race detector, but for what needs real Slurm
	FSUB_BIN=$(CURDIR)/bin $(GO) test -race -short -timeout 40m ./...

# Packages that only compute, and the controller's loops with their store in memory.
PURE := ./sbatch/... ./topology/... ./accounting/... ./federation/demand ./federation/place ./federation/predict ./federation/quota ./federation/fairshare ./federation/accounts ./federation/health/... ./federation/controller ./slurm/hostlist ./cloud/layout

race-pure: setup-build ## the packages without input and output under the race detector: CI runs it
	$(GO) test -race -short -timeout 20m $(PURE)

release-notes: ## the section of CHANGELOG.md of VERSION
	@awk -v v="## $(VERSION) " 'index($$0 " ", v) == 1 { on = 1; next } /^## / { on = 0 } on { print; n++ } END { if (!n) { print "CHANGELOG.md has no section $(VERSION)" > "/dev/stderr"; exit 1 } }' CHANGELOG.md

race-bed: setup build ## some tests against real Slurm, with a daemon that has the race detector; what it finds is in bin/race
	rm -rf bin/race && mkdir -p -m 777 bin/race/found && cp bin/fsub bin/fsub-remote bin/fed-agent bin/bed bin/race
	CGO_ENABLED=1 $(GO) build -race -trimpath -o bin/race/fed ./cmd/fed
	FSUB_BIN=$(CURDIR)/bin/race GORACE="log_path=$(CURDIR)/bin/race/found/r" GOFLAGS="$(GOFLAGS) -trimpath" $(GO) test -race -p 1 -timeout 40m ./testbed/spine ./testbed/situations ./testbed/staged
	@! grep -r . bin/race/found

fuzz: setup ## each fuzz target for FUZZTIME
	testbed/setup/fuzz.sh $(GO) $(or $(FUZZTIME),30s)

bench: setup build ## ratios against sbatch and slurmrestd, each pair in one run
	@testbed/bench/bench.sh

bench-place: setup-build ## the planner: speed, topology and public traces, into the tables of docs/planner.md; BENCHPLACE="-only speed" for some
	$(GO) run -trimpath ./testbed/benchplace $(BENCHPLACE)

lint: setup ## gofmt, go vet, staticcheck, govulncheck
	@out=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$out" ]; then echo "gofmt these: $$out"; exit 1; fi
	$(GO) vet ./...
	GOBIN=$(abspath $(TOOLS)) $(GO) install honnef.co/go/tools/cmd/staticcheck@v0.8.2
	$(TOOLS)/staticcheck ./...
	@testbed/setup/govulncheck.sh $(GO) $(abspath $(TOOLS))

man: build ## manual pages and completions of all commands, into bin/man and bin/completions
	rm -rf bin/man bin/completions
	bin/fed manual bin

install: man
	install -D -m 755 bin/fsub $(DESTDIR)$(PREFIX)/bin/fsub
	install -D -m 755 bin/fsub-remote $(DESTDIR)$(PREFIX)/bin/fsub-remote
	install -D -m 755 bin/fed-agent $(DESTDIR)$(PREFIX)/bin/fed-agent
	install -D -m 755 bin/fed $(DESTDIR)$(PREFIX)/bin/fed
	for f in bin/man/f*; do install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man$${f##*.} $$f; done # not those of Slurm's names
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/bash-completion/completions bin/completions/bash/fed bin/completions/bash/fsub
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/zsh/site-functions bin/completions/zsh/_fed bin/completions/zsh/_fsub
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d bin/completions/fish/fed.fish bin/completions/fish/fsub.fish

packages: setup-build ## deb and rpm of this commit, for x86_64 and aarch64, in bin/packages; ARCHS=amd64 for one
	@testbed/setup/setup.sh packages
	@deploy/packages/make.sh $(GO) bin/packages $(ARCHS)

# Further targets that put files of a release into bin/packages: they are done before the sums.
RELEASE_EXTRAS := image sbom

release: packages $(RELEASE_EXTRAS) ## all that is released but the signature, with SHA256SUMS, in bin/packages; RELEASE=v0.4.0 where there is no Git checkout
	@cd bin/packages && rm -f SHA256SUMS && sha256sum -- * >.sums && mv .sums SHA256SUMS && cat SHA256SUMS

docs-site: setup-build ## docs/ as a site with navigation and search, in bin/site
	@testbed/setup/setup.sh python
	@deploy/site/make.sh bin/site

image: build ## OCI images of the daemon and of the agent, without Docker, into bin/packages: podman load -i FILE, skopeo copy oci-archive:FILE docker://...
	@deploy/image/make.sh $(GO) bin/packages

sbom: build ## what each program was linked from (CycloneDX), and the licences of all of it, into bin/packages
	@SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct)} $(GO) run -trimpath ./deploy/sbom bin/packages bin/fed bin/fed-agent bin/fsub bin/fsub-remote

clean:
	rm -rf bin
