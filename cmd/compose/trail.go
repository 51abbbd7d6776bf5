package compose

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/anchor"
	auditmodule "github.com/writ-automation/writ/modules/audit"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/egress"
	"github.com/writ-automation/writ/ports/audit"
)

const headFile = "audit.head"

// auditConfig returns the trail's settings of an install with this data directory.
func (s *Settings) auditConfig(root string) auditmodule.Config {
	c := auditmodule.Config{
		Version: s.Info.Version, Beat: s.AuditBeat, HeadFile: anchor.NewHeadFile(filepath.Join(root, headFile)),
		Keys: s.signingKeys(root), Outsiders: s.AuditOutsiders,
	}
	if u, err := url.Parse(s.PublicURL); err == nil {
		c.Site = u.Hostname()
	}
	return c
}

// openTrail starts the chain, or compares it with the recorded heads, before any other entry is recorded. An error
// names the files with the heads.
func openTrail(life fx.Lifecycle, s *Settings, dir *dataDir, o *auditmodule.Opening) {
	life.Append(fx.Hook{OnStart: func(ctx context.Context) error {
		if err := o.Open(ctx); err != nil {
			return fmt.Errorf("%w (signing key: %s, head file: %s)", err, s.signingKeys(dir.root), dir.path(headFile))
		}
		return nil
	}})
}

// Trail are the roles of the audit trail over a database, for commands that work without a server. A running server
// sees their changes at once.
type Trail struct {
	Prover audit.Prover
	Admin  audit.Admin
	// ReplaceKey replaces the stored signing key. It is an error if another command replaces it too.
	ReplaceKey func(pem []byte) error
	change     *keyChange
	app        *fx.App
}

// OpenTrail opens the trail of an install that has been started before. It neither creates nor migrates the database.
func OpenTrail(ctx context.Context, s Settings) (*Trail, error) {
	root, err := s.dataDir()
	if err != nil {
		return nil, err
	}
	if err := exists(s.DB); err != nil {
		return nil, err
	}
	t := &Trail{}
	cfg := s.auditConfig(root)
	// The lock is taken before the command reads anything.
	if t.change, err = s.signingKeys(root).change(); err != nil {
		return nil, fmt.Errorf("read the signing key: %w", err)
	}
	t.ReplaceKey = t.change.replace
	var d *db.DB
	var o *auditmodule.Opening
	t.app = fx.New(
		fx.WithLogger(quiet), fx.Supply(&s.Install, s.Log, cfg), platform(), stores()[storeOf(s.DB)], auditmodule.Module,
		fx.Populate(&t.Prover, &t.Admin, &d, &o),
	)
	if err := t.app.Err(); err != nil {
		return nil, rootCause(err)
	}
	if err := t.app.Start(ctx); err != nil {
		return nil, err
	}
	err = d.Probe(ctx)
	if err == nil {
		err = o.Join(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, t.Close(ctx))
	}
	return t, nil
}

// Close closes the database and unlocks the signing key's file.
func (t *Trail) Close(ctx context.Context) error {
	return errors.Join(t.app.Stop(ctx), t.change.release())
}

// exists refuses a missing SQLite file, since opening it would create it.
func exists(url string) error {
	if storeOf(url) != SQLite {
		return nil
	}
	if _, err := os.Stat(url); err != nil {
		return fmt.Errorf("db: %w", err)
	}
	return nil
}

// Outsiders are the outside services that receive a head, by their addresses; an empty address is skipped. Authorities
// and witnesses are often in the private network, so private addresses are allowed for them.
func Outsiders(tsa, witness, witnessKey, head string) (audit.AnchorRequest, error) {
	var q audit.AnchorRequest
	var err error
	o := anchor.Options{Policy: egress.Policy{Level: egress.PrivateAllowed}}
	if tsa != "" {
		if q.TimeStamper, err = anchor.NewTimeStamper(tsa, o); err != nil {
			return q, err
		}
	}
	if witness != "" {
		if q.Witness, err = anchor.NewWitness(witness, witnessKey, o); err != nil {
			return q, err
		}
	}
	if head != "" {
		q.HeadFile = anchor.NewHeadFile(head)
	}
	return q, nil
}
