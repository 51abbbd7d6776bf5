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

// Tree has the roots and proofs of the tree over the stored chain.
type Tree interface {
	Inclusion(ctx context.Context, seq, size int64) ([]tree.Hash, error)
	Consistency(ctx context.Context, from, size int64) ([]tree.Hash, error)
}

// Install is who the install is, and what it signs with.
type Install interface {
	Identity(ctx context.Context) (install.Identity, error)
	Signers(ctx context.Context) (checkpoint, statement keys.Signer, err error)
	Checkpoint(ctx context.Context) (install.Head, error)
	// Vouched reports whether the head of the head file may count as given up.
	Vouched(ctx context.Context) (bool, error)
	// Abandoned returns what tells, within one pass, whether an anchor beyond what remained of its epoch counts as given
	// up.
	Abandoned(id install.Identity) func(ctx context.Context, a *audit.Anchor) (bool, error)
}

// Chain tells the end of the chain as its writers know it.
type Chain interface {
	Tip(ctx context.Context) (audit.Tip, error)
}

// Anchors are the heads that were kept.
type Anchors interface {
	Anchors(ctx context.Context, fn func(a *audit.Anchor) error) error
	NewestAnchors(ctx context.Context, kind string, limit int) ([]audit.Anchor, error)
	CountAnchors(ctx context.Context) (map[string]int64, error)
}

// Settings is what an operator and the build say.
type Settings struct {
	Service    keys.Product
	VerifyPage string        // empty for none
	Beat       time.Duration // how far beats are apart; zero says nothing about gaps
	// Outsiders is who outside of the install is believed; seal.json names them.
	Outsiders proof.Outsiders
	// Status returns the status of a run that has not ended, empty where it is not known. It may be nil.
	Status func(ctx context.Context, run string) (string, error)
}

// Params is what a Prover is made of.
type Params struct {
	Reader   audit.ChainReader
	Chain    Chain
	Anchors  Anchors
	HeadFile audit.HeadFile // nil: none is kept
	Tree     Tree
	Install  Install
	Clock    clock.Clock
	Settings Settings
}

// Prover implements audit.Prover. It may be used by several goroutines. Its methods are called outside of a unit.
type Prover struct {
	p       Params
	flights singleFlight
}

var _ audit.Prover = (*Prover)(nil)

// New returns a Prover. It runs nothing until it is asked.
func New(p Params) *Prover { return &Prover{p: p} }
