package catalog_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	sqlcatalog "github.com/writ-automation/writ/adapters/sqlstore/catalog"
	sqlidentity "github.com/writ-automation/writ/adapters/sqlstore/identity"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

// benchTemplates sets the number of templates in the benchmark, 10,000 by default, in addition to 2,000 inventories of
// 5,000 hosts:
//
//	WRIT_BENCH_TEMPLATES=100000 go test -bench Lists -run - ./adapters/sqlstore/catalog
const benchTemplates = "WRIT_BENCH_TEMPLATES"

const (
	benchInventories = 2000
	benchHosts       = 5000
)

var at = time.Date(2025, 1, 2, 3, 4, 5, 6000, time.UTC)

func record(id, name string) object.Record {
	return object.Record{ID: id, Name: name, CreatedBy: "usr_x", CreatedAt: at, UpdatedAt: at, Revision: 1}
}

// seed stores the inventories and n templates in random order of names. One of four templates is granted to a team.
func seed(b *testing.B, d *db.DB, s *sqlcatalog.Store, n int) {
	b.Helper()
	rights := sqlidentity.New(d)
	spec := catalog.TemplateSpec{
		Playbook: "site.yml", InventoryID: "inv_1", ProjectID: "prj_1", CredentialIDs: []string{"crd_1", "crd_2"},
		ExtraVars: runs.Vars{"version": json.RawMessage(`"1.2.3"`), "list": json.RawMessage(`[1,2,3,4,5,6,7,8]`)},
		Survey: json.RawMessage(
			`[{"var":"region","type":"choice","choices":["eu","us","ap"],"required":true,"label":"Where to"}]`),
	}
	must := func(what string, fn func(ctx context.Context) error) {
		if err := d.Do(b.Context(), fn); err != nil {
			b.Fatalf("%s: %v", what, err)
		}
	}
	must("a team", func(ctx context.Context) error {
		return rights.InsertTeam(ctx, identity.Team{ID: "team_1", Name: "t", CreatedAt: at})
	})
	for part := range slices.Chunk(rand.New(rand.NewPCG(1, 2)).Perm(n), 1000) {
		must("templates", func(ctx context.Context) error {
			for _, i := range part {
				t := catalog.Template{Record: record(fmt.Sprintf("tpl_%026d", i), fmt.Sprint("template ", i)), TemplateSpec: spec}
				if err := s.InsertTemplate(ctx, t); err != nil {
					return err
				}
				if err := rights.PutObject(ctx, identity.Object{ID: t.ID}); err != nil {
					return err
				}
				if i%4 != 0 {
					continue
				}
				g := identity.Grant{ID: fmt.Sprintf("grt_%026d", i), Subject: "team:team_1", Object: t.ID, Level: access.Use,
					CreatedAt: at}
				if _, err := rights.InsertGrant(ctx, g); err != nil {
					return err
				}
			}
			return nil
		})
	}
	var content bytes.Buffer
	for h := range benchHosts {
		fmt.Fprintf(&content, "host-%05d.example ansible_host=10.%d.%d.%d rack=%d\n", h, h/65536, h/256%256, h%256, h*7919%97)
	}
	for from := 0; from < benchInventories; from += 200 {
		must("inventories", func(ctx context.Context) error {
			for i := from; i < from+200; i++ {
				err := s.InsertInventory(ctx, catalog.Inventory{
					Record:  record(fmt.Sprintf("inv_%026d", i), fmt.Sprint("inventory ", i*7919%benchInventories)),
					Format:  catalog.INI,
					Content: content.Bytes(), Hosts: benchHosts, Digest: "d",
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	if d.Engine() == db.Postgres {
		if _, err := d.Read(b.Context()).ExecContext(b.Context(), "VACUUM ANALYZE"); err != nil {
			b.Fatal(err)
		}
	}
}

// measure runs fn for the benchmark's time and reports the durations of single calls.
func measure(b *testing.B, fn func() (rows, total int, err error)) {
	b.Helper()
	var took []time.Duration
	var rows, total int
	for b.Loop() {
		from := b.Elapsed()
		var err error
		if rows, total, err = fn(); err != nil {
			b.Fatal(err)
		}
		took = append(took, b.Elapsed()-from)
	}
	slices.Sort(took)
	for _, p := range []int{50, 95} {
		b.ReportMetric(float64(took[(len(took)-1)*p/100].Microseconds())/1000, fmt.Sprintf("ms-p%d", p))
	}
	b.ReportMetric(float64(rows), "rows")
	b.ReportMetric(float64(total), "total")
}

func BenchmarkLists(b *testing.B) {
	n, err := strconv.Atoi(os.Getenv(benchTemplates))
	if err != nil || n < 1000 {
		n = 10_000
	}
	for _, engine := range dbtest.Engines() {
		b.Run(string(engine), func(b *testing.B) {
			d := dbtest.Connect(b, db.Config{URL: dbtest.Fresh(b, engine, migrations.FS), UnitTimeout: time.Hour})
			s := sqlcatalog.New(d)
			seed(b, d, s, n)
			member := []string{"user:7", "team:team_1"}
			for _, c := range []struct {
				name  string
				scope access.Scope
				f     catalog.Filter
				w     page.Window
			}{
				{"everything", access.Everything(), catalog.Filter{}, page.Window{Limit: 50}},
				{"everything, the largest page", access.Everything(), catalog.Filter{}, page.Window{Limit: page.MaxRows}},
				{"everything, deep", access.Everything(), catalog.Filter{}, page.Window{Offset: n / 2, Limit: 50}},
				{"one name", access.Everything(), catalog.Filter{Name: "template 77"}, page.Window{Limit: 50}},
				{"nobody", access.Scope{}, catalog.Filter{}, page.Window{Limit: 50}},
				{"member", access.Scope{Subjects: member}, catalog.Filter{}, page.Window{Limit: 50}},
				{"member, strict", access.Scope{Subjects: member, Strict: true}, catalog.Filter{}, page.Window{Limit: 50}},
			} {
				b.Run("templates/"+c.name, func(b *testing.B) {
					measure(b, func() (int, int, error) {
						list, total, err := s.ListTemplates(b.Context(), c.scope, c.f, c.w)
						return len(list), total, err
					})
				})
				b.Run("inventories/"+c.name, func(b *testing.B) {
					measure(b, func() (int, int, error) {
						list, total, err := s.ListInventories(b.Context(), c.scope, c.f, c.w)
						return len(list), total, err
					})
				})
			}
		})
	}
}
