package cli

import (
	"encoding/json"
	"fmt"
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
	var asJSON bool
	c := &cobra.Command{
		Use: "version", Short: "Print the version", Args: args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			b := readBuild()
			if asJSON {
				return printJSON(w.out, b)
			}
			_, err := fmt.Fprintf(w.out, "writ %s (%s, %s) %s\n", b.Version, b.Go, b.System, b.Commit)
			return err
		},
	}
	jsonFlag(c, &asJSON)
	return c
}

func jsonFlag(c *cobra.Command, v *bool) {
	c.Flags().BoolVar(v, "json", false, "print JSON, for programs")
}

func printJSON(w interface{ Write([]byte) (int, error) }, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
