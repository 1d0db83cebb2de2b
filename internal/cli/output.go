package cli

import "github.com/spf13/cobra"

// textOrJSON gives cmd the flag -o of the verbs that have these two outputs, and returns the function that
// reads it, once it is parsed.
func textOrJSON(cmd *cobra.Command) (asJSON func() (bool, error)) {
	output := cmd.Flags().StringP("output", "o", "text", "text or json")
	offer(cmd, "output", "text", "json")
	return func() (bool, error) {
		if *output != "text" && *output != "json" {
			return false, usagef("unknown output %q: -o takes text or json", *output)
		}
		return *output == "json", nil
	}
}

// partitionField names a partition in an object of -o json: by its directory as it was given, and as Kafka
// does, where the directory's name tells that.
type partitionField struct {
	Dir       string  `json:"dir"`
	Topic     *string `json:"topic"`
	Partition *int32  `json:"partition"`
}

// field is p as objects of -o json name it.
func (p *partition) field() partitionField { return partitionField{p.path, p.name.topic, p.name.id} }

// offer has the shell complete the flag name of cmd with the words that it takes.
func offer(cmd *cobra.Command, name string, words ...string) {
	err := cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	if err != nil { // there is no such flag, or it has its words already
		panic(err)
	}
}
