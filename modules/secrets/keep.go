package secrets

import (
	"errors"
	"log/slog"
	"maps"

	"github.com/writ-automation/writ/modules/secrets/internal/keep"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/tx"
)

// KeeperParams is what the keeping of credentials is made of. Every member but Log and Engines is required.
type KeeperParams struct {
	Unit  tx.Unit
	Clock clock.Clock
	IDs   ids.Generator
	Log   *slog.Logger
	// Recorder records each change in its unit of work.
	Recorder audit.Recorder

	Store  secrets.Store
	Types  secrets.TypeStore
	Sealer secrets.Sealer
	// Keys judges private keys before they are stored.
	Keys secrets.KeyReader
	// Engines are the secret engines by name, those of extensions among them. They are asked for the form of configs and for nothing else.
	Engines map[string]extension.Engine

	// Objects hears of each credential, since it can carry grants.
	Objects identity.Objects
	// Guard and Owners decide for the callers.
	Guard  access.Guard
	Owners access.Owners
	// Usage and Runs tell what needs a credential.
	Usage catalog.Usage
	Runs  runs.ObjectStore
}

// Keeper is the driving side of what is kept sealed.
type Keeper struct {
	Credentials secrets.Credentials
	Types       secrets.Types
}

// NewKeeper makes the keepers of credentials and of their types. It returns an error where a dependency is missing.
func NewKeeper(p KeeperParams) (Keeper, error) {
	if p.Unit == nil || p.Clock == nil || p.IDs == nil || p.Recorder == nil || p.Store == nil || p.Types == nil || p.Sealer == nil || p.Keys == nil ||
		p.Objects == nil || p.Guard == nil || p.Owners == nil || p.Usage == nil || p.Runs == nil {
		return Keeper{}, errors.New("secrets: a dependency of the keeper is missing")
	}
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	k := keep.Kernel{Unit: p.Unit, Clock: p.Clock, IDs: p.IDs, Log: p.Log, Recorder: p.Recorder, Objects: p.Objects}
	d := keep.NewDesk(p.Guard, p.Owners, p.Usage, p.Runs)
	return Keeper{
		Credentials: keep.NewCredentials(k, d, p.Store, p.Types, p.Sealer, p.Keys, maps.Clone(p.Engines)),
		Types:       keep.NewTypes(k, d, p.Types, p.Store),
	}, nil
}
