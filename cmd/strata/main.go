// Command strata reads, checks and writes Apache Kafka log directories without a JVM. All of it is in
// internal/cli.
package main

import (
	"os"

	"github.com/stratalog/strata/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
