package compose

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/probes"
	"github.com/writ-automation/writ/adapters/secrets/sealer"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	auditmodule "github.com/writ-automation/writ/modules/audit"
	"github.com/writ-automation/writ/modules/system"
	"github.com/writ-automation/writ/platform/boundary"
	"github.com/writ-automation/writ/platform/cgroup"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
	portsystem "github.com/writ-automation/writ/ports/system"
)

// doctorChecks provides the checks of the doctor.
func doctorChecks(s *Settings, dir *dataDir, runsDir string) fx.Option {
	return fx.Options(system.Checks, fx.Module("examination", fx.Provide(
		check(func(t execution.Catalog) (*probes.Tools, error) { return probes.NewTools(t, os.Getenv("PATH")) }),
		check(func() (*probes.Disk, error) { return probes.NewDisk(s.directories(dir, runsDir)) }),
		check(func() (*probes.Keys, error) { return probes.NewKeys(s.keyFiles(dir)) }),
		check(func(d *db.DB, c clock.Clock) (*probes.Clock, error) { return probes.NewClock(d.Clock, c) }),
		check(func(d *db.DB) (*probes.Schema, error) {
			return probes.NewSchema(func(ctx context.Context) (int64, int64, error) { return d.Schema(ctx, migrations.FS) })
		}),
		check(func(w execution.WorkerStore, t catalog.TemplateStore, i catalog.InventoryStore, r runs.Store) (*probes.Workers,
			error) {
			return probes.NewWorkers(w, named{t, i, r}.queues)
		}),
		check(func(b *boundary.Boundary, g *cgroup.Groups, a identity.Accounts) (*probes.Isolation, error) {
			return isolationCheck(s, dir, b, g, a)
		}),
		newExtensions, check(probes.NewExtensions),
		check(credentialCheck), check(system.NewDeadLetterCheck),
		check(auditmodule.NewHeadCheck),
	)))
}

// isolationCheck checks the boundary around the runs of this server.
func isolationCheck(
	s *Settings, dir *dataDir, b *boundary.Boundary, g *cgroup.Groups, accounts identity.Accounts,
) (*probes.Isolation, error) {
	work, err := s.workDir()
	if err != nil {
		return nil, err
	}
	p := probes.IsolationParams{
		Status: b.Status(), Executes: s.Executors > 0, Root: os.Geteuid() == 0, DataDir: dir.root, WorkDir: work,
		Memory: s.Isolation.Memory, Unlimited: g.Unlimited(),
		Accounts: func(ctx context.Context) (int, error) {
			_, n, err := accounts.List(ctx, page.Window{Limit: 1})
			return n, err
		},
	}
	for _, path := range s.sensitive() {
		if path == "" {
			continue
		}
		abs, err := absolute(path)
		if err != nil {
			return nil, err
		}
		inside := strings.HasPrefix(abs, dir.root+"/")
		if info, err := os.Stat(abs); err == nil && !info.IsDir() && !inside && closable(abs, work) == abs {
			p.Alone = append(p.Alone, abs)
		}
	}
	return probes.NewIsolation(p)
}

// credentialCheck checks the sealed data.
func credentialCheck(
	c secrets.Store, v *sealed, h sealedStores, engines map[string]extension.Engine,
) *system.CredentialCheck {
	return system.NewCredentialCheck(system.CredentialParams{
		Credentials: c, Sealer: v, SealedStores: h.List, KeyID: v.keyID, KeyOf: sealer.KeyIDOf,
		HasEngine: func(name string) bool { _, ok := engines[name]; return ok },
	})
}

// check joins a check to the others.
func check(provide any) any {
	return fx.Annotate(provide, fx.As(new(portsystem.Check)), fx.ResultTags(portsystem.CheckGroup))
}

func (s *Settings) directories(dir *dataDir, runsDir string) []probes.Directory {
	out := []probes.Directory{{Path: dir.root, Use: "data directory"}, {Path: runsDir, Use: "directory of runs"}}
	if storeOf(s.DB) == SQLite {
		out = append(out, probes.Directory{Path: filepath.Dir(s.DB), Use: "directory of the database"})
	}
	return out
}

func (s *Settings) keyFiles(dir *dataDir) []probes.KeyFile {
	var out []probes.KeyFile
	add := func(text, configured, own, use string) {
		switch {
		case text != "":
		case configured != "":
			out = append(out, probes.KeyFile{Path: configured, Use: use})
		default:
			out = append(out, probes.KeyFile{Path: dir.path(own), Use: use})
		}
	}
	add(string(s.SigningKey), s.SigningKeyFile, signingFile, "signing key")
	add(string(s.EncryptionKey), s.EncryptionKeyFile, sealer.KeyFile, "encryption key")
	return out
}

// named lists the queues that an object names.
type named struct {
	templates   catalog.TemplateStore
	inventories catalog.InventoryStore
	runs        runs.Store
}

// maxNamed bounds the objects that are read.
const maxNamed = 10 * page.MaxRows

// queues counts the users of each queue: templates, inventories, and waiting runs.
func (n named) queues(ctx context.Context) (map[string]int, error) {
	out := map[string]int{}
	count := func(queue string) {
		if queue != "" {
			out[queue]++
		}
	}
	err := each(func(w page.Window) (int, error) {
		list, _, err := n.templates.ListTemplates(ctx, access.Everything(), catalog.Filter{}, w)
		for i := range list {
			count(list[i].Queue)
			for j := range list[i].Steps {
				count(list[i].Steps[j].Queue)
			}
		}
		return len(list), err
	})
	if err != nil {
		return nil, err
	}
	err = each(func(w page.Window) (int, error) {
		list, _, err := n.inventories.ListInventories(ctx, access.Everything(), catalog.Filter{}, w)
		for i := range list {
			count(list[i].Queue)
		}
		return len(list), err
	})
	if err != nil {
		return nil, err
	}
	return out, n.waiting(ctx, out)
}

// each calls next for the pages of a list until the last one or maxNamed rows.
func each(next func(page.Window) (rows int, err error)) error {
	for at := 0; at < maxNamed; at += page.MaxRows {
		rows, err := next(page.Window{Offset: at, Limit: page.MaxRows})
		if err != nil || rows < page.MaxRows {
			return err
		}
	}
	return nil
}

func (n named) waiting(ctx context.Context, out map[string]int) error {
	counts, err := n.runs.Counts(ctx)
	for _, c := range counts {
		if c.Status == runs.Pending && c.Runs > 0 {
			out[c.Queue] += int(c.Runs)
		}
	}
	return err
}
