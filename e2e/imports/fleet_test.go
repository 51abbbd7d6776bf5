package imports

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/importer"
)

// nodes is an answer of PuppetDB's inventory with n nodes.
func nodes(n int) []byte {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,{"certname":"web%d.example.org","timestamp":"2026-05-01T00:00:00Z","environment":"production",`+
			`"facts":{"networking":{"ip":"192.0.2.%d"},"os":{"family":"Debian","name":"Debian"}},"trusted":{}}`, i, i)
	}
	return []byte("[" + b.String()[1:] + "]")
}

// TestImportFleet previews and applies an import, and imports it again, and a larger one.
func TestImportFleet(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL})
		entries := len(s.Trail().Hashes)
		plan := importing(t, s.Client, "puppet", nodes(3))
		if plan.Applied || plan.Counts.Create != 1 || plan.Counts.Adapted != 1 || plan.Objects[0].ID != "" {
			t.Errorf("the preview is %+v", plan)
		}
		if n := total(t, s.Client, "inventories"); n != 0 {
			t.Errorf("a preview wrote %d inventories", n)
		}
		if n := len(s.Trail().Hashes); n != entries {
			t.Errorf("a preview made %d entries", n-entries)
		}
		plan = importing(t, s.Client, "puppet", nodes(3), "apply", "true")
		o := plan.Objects[0]
		if !plan.Applied || o.Action != importer.Create || o.ID == "" || o.Kind != importer.Inventory {
			t.Fatalf("the import is %+v", plan)
		}
		var hosts struct {
			Total int
			Hosts []struct {
				Name   string
				Groups []string
				Vars   map[string]any
			}
		}
		s.Do(http.MethodGet, "/v1/inventories/"+o.ID+"/hosts", nil).JSON(t, &hosts)
		if hosts.Total != 3 || fmt.Sprint(hosts.Hosts[1].Groups) != "[env_production os_Debian]" ||
			hosts.Hosts[1].Vars["ansible_host"] != "192.0.2.1" {
			t.Errorf("the hosts are %+v", hosts)
		}
		plan = importing(t, s.Client, "puppet", nodes(3), "apply", "true")
		if o := plan.Objects[0]; o.Action != importer.Skip || o.Reason != "unchanged" || plan.Counts.Create != 0 {
			t.Errorf("the same import again is %+v", plan)
		}
		plan = importing(t, s.Client, "puppet", nodes(4), "apply", "true")
		if o := plan.Objects[0]; o.Action != importer.Update || fmt.Sprint(o.Changes) != "[content]" {
			t.Errorf("a larger import is %+v", plan)
		}
		s.Do(http.MethodGet, "/v1/inventories/"+o.ID+"/hosts", nil).JSON(t, &hosts)
		if hosts.Total != 4 || total(t, s.Client, "inventories") != 1 {
			t.Errorf("there are %d hosts", hosts.Total)
		}
		s.Intact()
	})
}
