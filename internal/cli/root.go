package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// newRoot is the command with all its verbs.
func newRoot(e *env) *cobra.Command {
	root := &cobra.Command{
		Use:   "strata",
		Short: "Read, check and write Apache Kafka log directories",
		Long: "strata reads, checks and writes Apache Kafka log directories, without a JVM.\n\n" +
			"Verbs that read take no lock and write nothing: they may be used on a running broker's directory.\n\n" +
			"Exit status: 0 done, 1 failed, 2 wrong arguments, 3 damage was found, 4 the directory is in use, 5 refused\n" +
			"since acknowledged records would be lost, 130 interrupted.",
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return usagef("unknown verb %q: strata --help lists the verbs", args[0])
		},
		Args: cobra.ArbitraryArgs,
	}
	root.SetIn(e.in)
	root.SetOut(e.out)
	root.SetErr(e.errs)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%v: %s --help lists the flags", err, cmd.CommandPath())
	})
	root.AddCommand(
		newAppend(e), newBench(e), newCat(e), newDeleteRecords(e), newDump(e), newLs(e), newOffsets(e), newProducers(e), newSegments(e), newStat(e),
		newTruncate(e), newTxns(e), newVerify(e), newVersion(e),
	)
	root.Version = moduleVersion()
	root.SetVersionTemplate(versionText())
	strictHelpers(root)
	return root
}

// strictHelpers has the commands that cobra adds refuse wrong arguments as the verbs do.
func strictHelpers(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Args = func(_ *cobra.Command, args []string) error {
				if _, rest, err := root.Find(args); err != nil || len(rest) > 0 {
					return usagef("unknown verb %q: strata --help lists the verbs", strings.Join(args, " "))
				}
				return nil
			}
		case "completion":
			cmd.Args, cmd.RunE = cobra.ArbitraryArgs, func(cmd *cobra.Command, args []string) error {
				if len(args) == 0 {
					return cmd.Help()
				}
				return usagef("unknown shell %q: completion takes bash, fish, powershell or zsh", args[0])
			}
			for _, shell := range cmd.Commands() {
				shell.Args = takes(0, 0, "no arguments")
			}
		}
	}
}

// takes makes an argument check out of how many a verb takes, with a text that says what to give it.
func takes(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || most >= 0 && len(args) > most {
			return usagef("%s takes %s: %s", cmd.Name(), what, cmd.UseLine())
		}
		if slices.Contains(args, "") { // an unset variable of a script, which must not stand for the working directory
			return usagef("an argument is empty: %s takes %s", cmd.Name(), what)
		}
		return nil
	}
}
