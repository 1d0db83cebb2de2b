package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// newVersion is the verb version.
func newVersion(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Say which strata this is",
		Args:  takes(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			_, err := e.out.WriteString(versionText())
			return err
		},
	}
}

// versionText is the line that says which strata this is.
func versionText() string {
	return fmt.Sprintf("strata %s %s %s/%s\n", moduleVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// moduleVersion is the version of the module that the binary was built from, "(devel)" from a checkout.
func moduleVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
