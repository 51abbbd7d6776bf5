package prove

import (
	"context"
	"time"

	"github.com/writ-automation/writ/modules/audit/internal/install"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/proof"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/tree"
)

// Tree returns roots and proofs of the tree over the stored chain.
type Tree interface {
	Inclusion(ctx context.Context, seq, size int64) ([]tree.Hash, error)
	Consistency(ctx context.Context, from, size int64) ([]tree.Hash, error)
}

// Install is the identity of the install and its signers.
type Install interface {
	Identity(ctx context.Context) (install.Identity, error)
	Signers(ctx context.Context) (checkpoint, statement keys.Signer, err error)
	Checkpoint(ctx context.Context) (install.Head, error)
	// Vouched reports whether the head of the head file counts as abandoned.
	Vouched(ctx context.Context) (bool, error)
	// Abandoned returns a function that reports, within one pass, whether an anchor beyond the end of its epoch counts
	// as abandoned.
	Abandoned(id install.Identity) func(ctx context.Context, a *audit.Anchor) (bool, error)
}

// Chain returns the end of the chain as its writers have it.
type Chain interface {
	Tip(ctx context.Context) (audit.Tip, error)
}

// Anchors are the stored heads.
type Anchors interface {
	Anchors(ctx context.Context, fn func(a *audit.Anchor) error) error
	NewestAnchors(ctx context.Context, kind string, limit int) ([]audit.Anchor, error)
	CountAnchors(ctx context.Context) (map[string]int64, error)
}

// Settings is the configuration by the operator and the build.
type Settings struct {
	Service    keys.Product
	VerifyPage string        // or empty
	Beat       time.Duration // interval of the beats; zero disables the check of gaps
	// Outsiders lists the trusted third parties; seal.json names them.
	Outsiders proof.Outsiders
	// Status returns the status of a run that has not ended, or "" if it is not known. It may be nil.
	Status func(ctx context.Context, run string) (string, error)
}

// Params holds the dependencies of a Prover.
type Params struct {
	Reader   audit.ChainReader
	Chain    Chain
	Anchors  Anchors
	HeadFile audit.HeadFile // nil: disabled
	Tree     Tree
	Install  Install
	Clock    clock.Clock
	Settings Settings
}

// Prover makes verdicts, bundles, receipts and seal.json. It is safe for concurrent use. Its methods must be called
// outside of a unit.
type Prover struct {
	p       Params
	flights singleFlight
}

var _ audit.Prover = (*Prover)(nil)

// New returns a Prover. It starts no work.
func New(p Params) *Prover { return &Prover{p: p} }
