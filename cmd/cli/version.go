package cli

import (
	"context"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// build describes the build of this binary.
type build struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
	System  string `json:"system"`
}

func readBuild() build {
	b := build{Version: "devel", Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			b.Commit = s.Value
		}
	}
	return b
}

func versionCommand(w environment) *cobra.Command {
	return printCommand(w, &cobra.Command{
		Use: "version", Short: "Print the version", Args: args(cobra.NoArgs),
	}, func(_ context.Context, _ []string, out printer) error {
		b := readBuild()
		return out.print(b, "writ %s (%s, %s) %s", b.Version, b.Go, b.System, b.Commit)
	})
}
