package probes

import (
	"context"
	"errors"
	"fmt"

	"github.com/writ-automation/writ/ports/system"
)

// Extensions checks that all plugins of this server run.
type Extensions struct{ list system.Extensions }

var _ system.Check = (*Extensions)(nil)

// NewExtensions returns the check. It returns an error without a list.
func NewExtensions(list system.Extensions) (*Extensions, error) {
	if list == nil {
		return nil, errors.New("probes: the list of extensions is missing")
	}
	return &Extensions{list}, nil
}

// Name returns the name of the check.
func (*Extensions) Name() string { return "extensions" }

// Examine reports plugins that do not run, and those that had to be started again.
func (c *Extensions) Examine(ctx context.Context) (system.Examination, error) {
	var out system.Examination
	for _, e := range c.list.Extensions(ctx) {
		out.Examined++
		f := system.Finding{Severity: system.Warning, Object: system.Subject{Kind: "extension", ID: e.Name, Name: e.Name},
			Link: "/v1/extensions"}
		switch {
		case e.State == system.ExtensionFailed && len(e.Kinds) == 0:
			f.Problem = fmt.Sprintf("the plugin was skipped: %s", e.Error)
			f.Fix = "mend the plugin or remove it from the directory of --plugins-dir, and start the server again"
		case e.State == system.ExtensionFailed:
			f.Severity = system.Error
			f.Problem = fmt.Sprintf("the plugin is not started again after %d restarts: %s", e.Restarts, e.Error)
			f.Fix = "look at its lines in the server's log, mend the plugin, and start the server again"
		case e.Restarts > 0:
			f.Problem = fmt.Sprintf("the plugin was started again %d times since the start of the server", e.Restarts)
			f.Fix = "look at its lines in the server's log for why it ends"
		default:
			continue
		}
		out.Findings = append(out.Findings, f)
	}
	return out, nil
}
