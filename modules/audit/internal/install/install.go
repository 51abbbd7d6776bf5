package install

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/writ-automation/writ/modules/audit/internal/treelog"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/tree"
	"github.com/writ-automation/writ/ports/tx"
)

// Config is the configuration of this server.
type Config struct {
	// Site is the public host name or a name that the operator chose. It becomes part of the origin of a new install.
	Site    string
	Version string
	// SigningPEM is the contents of signing.key, empty if this server has none.
	SigningPEM []byte
	HeadFile   audit.HeadFile // nil: disabled
	// Load reads signing.key again, to find keys that another process rotated; nil disables that.
	Load func() ([]byte, error)
}

// Params holds the dependencies of an Install.
type Params struct {
	Unit     tx.Unit
	Identity audit.IdentityStore
	Chain    audit.ChainStore
	Reader   audit.ChainReader
	Anchors  audit.AnchorStore
	Tree     *treelog.Tree
	Recorder audit.Recorder
	Clock    clock.Clock
	IDs      ids.Generator
	Log      *slog.Logger
	Config   Config
}

// Install is safe for concurrent use. Open must be called first.
type Install struct {
	p Params

	mu    sync.Mutex       // guards the members below; never held during a read
	own   *pair            // nil: this server has no key
	flaw  error            // why the contents of signing.key could not be read
	ready bool             // whether Open or Adopt found that own is the install's key
	heard map[string]int64 // by key id, the newest epoch with a head by that key

	signing  sync.Mutex // held while a head is signed
	frontier tree.Range // of the head that was signed last
	last     Head
	tip      tree.Hash // leaf hash of the last entry under that head
	by       string    // id of the key that signed it
}

// New returns the install of the given stores. Open reports a signing key that cannot be read.
func New(p Params) *Install {
	i := &Install{p: p, heard: make(map[string]int64)}
	i.own, i.flaw = newPair(p.Config.SigningPEM)
	return i
}

// Identity describes the install.
type Identity struct {
	InstallID string
	Epoch     audit.Epoch   // the open one
	Epochs    []audit.Epoch // every one, ascending
	Keys      []keys.Key    // in the order in which they were registered; checkpoint keys under the open epoch's origin
}

// Identity reads the identity of the install. If the install was never opened, it returns an Internal fault.
func (i *Install) Identity(ctx context.Context) (Identity, error) {
	id, err := i.p.Identity.Install(ctx)
	if err != nil {
		return Identity{}, fmt.Errorf("read the install's id: %w", err)
	}
	made := Identity{InstallID: id}
	if made.Epochs, err = i.p.Identity.Epochs(ctx); err != nil {
		return Identity{}, fmt.Errorf("read the epochs: %w", err)
	}
	if id == "" || len(made.Epochs) == 0 {
		return Identity{}, fault.Wrap(fault.Internal, nil, "the install has no identity yet: its server was never started")
	}
	made.Epoch = made.Epochs[len(made.Epochs)-1]
	stored, err := i.p.Identity.Keys(ctx)
	if err != nil {
		return Identity{}, fmt.Errorf("read the public keys: %w", err)
	}
	made.Keys, err = under(stored, made.Epoch.Origin)
	return made, err
}

// under converts stored keys for verifiers, checkpoint keys under an origin.
func under(stored []audit.PublicKey, origin string) ([]keys.Key, error) {
	out := make([]keys.Key, 0, len(stored))
	for _, s := range stored {
		name := origin
		if s.Use != string(keys.Checkpoint) {
			name = ""
		}
		k, err := keys.NewKey(s.Public, keys.Use(s.Use), name)
		if err != nil {
			return nil, fmt.Errorf("public key %s: %w", s.KID, err)
		}
		if k.ID != s.KID {
			return nil, fault.Wrap(fault.Internal, nil, "the public key that is stored as %s is a different one", s.KID)
		}
		k.Status, k.NotBefore, k.Handover = keys.Status(s.Status), s.NotBefore, s.Handover
		k.FirstSize, k.LastSize, k.TrustedSize = s.FirstSize, s.LastSize, s.TrustedSize
		out = append(out, k)
	}
	return out, nil
}

// HasKey reports whether the last Open or Adopt found that this server has the install's key.
func (i *Install) HasKey() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.ready
}

// Adopt replaces the keys of this server by those in the contents of a signing.key.
func (i *Install) Adopt(pem []byte) error {
	own, err := newPair(pem)
	if err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.own, i.flaw, i.ready = own, nil, own != nil
	return nil
}

func (i *Install) pair() (*pair, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.own, i.flaw
}

// Signers returns the signers of heads and statements. It returns NoSigningKey if this server has no key or only an
// inactive one.
func (i *Install) Signers(ctx context.Context) (checkpoint, statement keys.Signer, err error) {
	own, err := i.current(ctx)
	if err != nil {
		return nil, nil, err
	}
	return own.checkpoint, own.statement, nil
}

// current returns this server's keys if both are active. If not, it reads again, since another process may have
// rotated them between two reads.
func (i *Install) current(ctx context.Context) (*pair, error) {
	for n := 1; ; n++ {
		stored, err := i.p.Identity.Keys(ctx)
		if err != nil {
			return nil, fmt.Errorf("read the public keys: %w", err)
		}
		own, err := i.usable(stored)
		if err != nil && i.reload() {
			own, err = i.usable(stored)
		}
		if err == nil || n == signings {
			return own, err
		}
	}
}

// reload adopts the present contents of signing.key and reports whether that succeeded.
func (i *Install) reload() bool {
	if i.p.Config.Load == nil {
		return false
	}
	pem, err := i.p.Config.Load()
	if err != nil || len(pem) == 0 {
		return false
	}
	return i.Adopt(pem) == nil
}

// usable returns this server's keys if both are active.
func (i *Install) usable(stored []audit.PublicKey) (*pair, error) {
	own, err := i.pair()
	if err != nil {
		return nil, audit.NoSigningKey.New("the signing key of this server cannot be read").Because(err)
	}
	if own == nil {
		return nil, audit.NoSigningKey.New("this server has no signing key")
	}
	if active(stored, own.checkpointID, keys.Checkpoint) == nil || active(stored, own.statementID, keys.Statement) == nil {
		return nil, audit.NoSigningKey.New("the signing key of this server is not the one that the install signs with now")
	}
	return own, nil
}

// active returns the active key of an id and a use, or nil.
func active(stored []audit.PublicKey, id string, use keys.Use) *audit.PublicKey {
	for n := range stored {
		if k := &stored[n]; k.KID == id && k.Use == string(use) && k.Status == string(keys.Active) {
			return k
		}
	}
	return nil
}
