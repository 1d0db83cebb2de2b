# What contributors call. The work is in .ci/run, so that CI and `make check` are the same.

.PHONY: build test short check lint fuzz

build: ## the command, without cgo
	CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o strata ./cmd/strata

test: ## the README's test command
	go test ./...

short: ## the same in seconds
	go test -short ./...

check: ## everything that CI runs
	bash .ci/run

lint: ## gofmt, vet, staticcheck, golangci-lint
	bash .ci/run lint golangci

fuzz: ## each fuzz target for a while: make fuzz FUZZTIME=5m
	FUZZTIME=$(or $(FUZZTIME),1m) bash .ci/run fuzz
