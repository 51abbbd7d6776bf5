package execution

import (
	"context"
	"io"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/secret"
)

// WorkRefresh is the one kind of work beside runs: the refresh of an inventory source that runs a program.
const WorkRefresh = "refresh"

// RelayWork is work that a worker claimed beside its runs.
type RelayWork struct {
	ID       string      `json:"id"` // of the source
	Kind     string      `json:"kind"`
	Epoch    int64       `json:"epoch"`
	Revision int64       `json:"revision"`
	Source   RelaySource `json:"source"`
}

// RelaySource is a source for the worker that refreshes it.
type RelaySource struct {
	Kind    catalog.SourceKind `json:"kind"`
	Plugin  map[string]any     `json:"plugin,omitempty"`
	Content string             `json:"content,omitempty"`
	Path    string             `json:"path,omitempty"` // in the checkout, which the worker fetches
}

// RelayWorkBeat requests the renewal of the lease of work.
type RelayWorkBeat struct{}

// RelayWorkResult is the result of work: the content in base64 with its format, or one sentence about the failure.
// Released tells that it was not done.
type RelayWorkResult struct {
	Content  string         `json:"content,omitempty"`
	Format   catalog.Format `json:"format,omitempty"`
	Error    string         `json:"error,omitempty"`
	Released bool           `json:"released,omitempty"`
}

// RelayWorks is the control plane for work beside runs. The holder names the work in place of a run. Every method
// returns LeaseLost of package runs if the capability does not hold it.
type RelayWorks interface {
	// BeatWork renews the lease.
	BeatWork(ctx context.Context, h Leaseholder) (RelayBeat, error)
	// WorkProject calls open and writes a tar archive of the checkout below "project/". Faults: those of
	// catalog.Refreshes.Checkout.
	WorkProject(ctx context.Context, h Leaseholder, open func() (io.Writer, error)) error
	// FinishWork stores the result, without the secrets that the worker got. Invalid faults name a member.
	FinishWork(ctx context.Context, h Leaseholder, r RelayWorkResult) error
}

// NewRelayAccess reveals the secrets of a source for its worker, nil for none.
func NewRelayAccess(a catalog.Access) *RelaySecrets {
	if len(a.Env)+len(a.Files) == 0 {
		return nil
	}
	out := &RelaySecrets{Env: make(map[string]string, len(a.Env))}
	for k, v := range a.Env {
		out.Env[k] = v.Reveal()
	}
	for k, v := range a.Files {
		out.Files = append(out.Files, RelayFile{Name: k, Content: []byte(v.Reveal())})
	}
	return out
}

// Access returns the secrets of a source.
func (s *RelaySecrets) Access() catalog.Access {
	out := catalog.Access{}
	if s == nil {
		return out
	}
	out.Env, out.Files = make(map[string]secret.Text, len(s.Env)), make(map[string]secret.Text, len(s.Files))
	for k, v := range s.Env {
		out.Env[k] = secret.Text(v)
	}
	for _, f := range s.Files {
		out.Files[f.Name] = secret.Text(f.Content)
	}
	return out
}
