package imports

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/importer"
)

// deployment is an export of AWX: two projects of one name, one with an address that is refused and a template on it,
// and a template whose credential has no secret, with a schedule.
const deployment = `
projects:
  - {name: Site, organization: {name: Ops}, scm_type: git, scm_url: "https://git.example.com/site.git", scm_branch: BRANCH}
  - {name: Site, organization: {name: Lab}, scm_type: git, scm_url: "https://git.example.com/lab.git"}
  - {name: Refused, organization: {name: Ops}, scm_type: git, scm_url: "ftp://git.example.com/x.git"}
credentials:
  - {name: Root, organization: {name: Ops}, credential_type: {name: Machine, kind: ssh}, inputs: {username: root}}
inventory:
  - {name: Web, organization: {name: Ops}, related: {hosts: [{name: w1, enabled: true}]}}
job_templates:
  - name: Deploy
    playbook: site.yml
    project: {name: Site, organization: {name: Ops}, type: project}
    inventory: {name: Web, organization: {name: Ops}, type: inventory}
    related:
      credentials: [{name: Root, organization: {name: Ops}, credential_type: {name: Machine, kind: ssh}}]
      schedules: [{name: Nightly, enabled: true, rrule: "DTSTART:20260101T040000Z RRULE:FREQ=DAILY;INTERVAL=1"}]
  - {name: On refused, playbook: x.yml, project: {name: Refused, organization: {name: Ops}, type: project}}
`

func deploying(branch string) []byte { return []byte(strings.Replace(deployment, "BRANCH", branch, 1)) }

// tables returns a digest of each table with rows.
func tables(s *harness.Server) map[string]string {
	sums := make(map[string]string)
	if !strings.HasPrefix(s.DB, "postgres") {
		s.Cells(func(table, column string, value []byte) {
			sums[table] = fmt.Sprintf("%x", sha256.Sum256([]byte(sums[table]+"\x00"+column+"\x00"+string(value))))
		})
		return sums
	}
	var each []string
	for _, name := range s.Column("SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'") {
		each = append(each, fmt.Sprintf(`SELECT '%s ' || md5(string_agg(t::text, ',' ORDER BY t::text)) FROM "%[1]s" AS t
			HAVING count(*) > 0`, name))
	}
	for _, row := range s.Column(strings.Join(each, " UNION ALL ")) {
		table, sum, _ := strings.Cut(string(row), " ")
		sums[table] = sum
	}
	return sums
}

// outcomes returns the objects of a plan by their kinds and names, as their actions, classes and reasons.
func outcomes(p importer.Body) map[string]string {
	out := make(map[string]string)
	for _, o := range p.Objects {
		out[string(o.Kind)+" "+o.Name] = strings.TrimSpace(fmt.Sprintf("%s %s %s", o.Action, o.Class, o.Reason))
	}
	return out
}

// TestPreviewWritesNothing: after a preview every table is as it was, and its answer has no list that is null.
func TestPreviewWritesNothing(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL, Flags: []string{"--executors", "0"}})
		importing(t, s.Client, "puppet", nodes(2), "apply", "true")
		own := []string{"tokens", "workers", "audit_anchors"} // what a server writes by itself
		written := func() map[string]string {
			sums := tables(s)
			maps.DeleteFunc(sums, func(name, _ string) bool { return slices.Contains(own, name) })
			return sums
		}
		before := written()
		a := post(s.Client, "awx", string(deploying("main")))
		if a.Status != http.StatusOK || strings.Contains(string(a.Body), "null") {
			t.Errorf("the preview is %d %.2000s", a.Status, a.Body)
		}
		after := written()
		for _, table := range slices.Sorted(maps.Keys(after)) {
			if after[table] != before[table] {
				t.Errorf("a preview changes the table %s", table)
			}
		}
		if len(after) < 10 || len(after) != len(before) {
			t.Errorf("there are %d tables with rows, and were %d", len(after), len(before))
		}
	})
}

// TestImportRules imports what is refused in part, what has the same name twice, and a schedule that could not
// fire; then the same export with a change.
func TestImportRules(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL})
		plan := importing(t, s.Client, "awx", deploying("main"), "apply", "true")
		got := outcomes(plan)
		for name, want := range map[string]string{
			"project Site": "create", "project Site (2)": "create", "credential Root": "create needs_you",
			"inventory Web": "create", "template Deploy": "create", "schedule Nightly": "create needs_you",
			"project Refused": "skip no_home", "template On refused": "create needs_you",
		} {
			if !strings.HasPrefix(got[name], want) {
				t.Errorf("%s: %q, want %q", name, got[name], want)
			}
		}
		var list struct{ Schedules []struct{ Enabled bool } }
		if s.Do(http.MethodGet, "/v1/schedules", nil).JSON(t, &list); len(list.Schedules) != 1 || list.Schedules[0].Enabled {
			t.Errorf("the schedules are %+v", list.Schedules)
		}
		warned := slices.ContainsFunc(plan.Warnings, func(w importer.WarningBody) bool {
			return w.Kind == importer.Schedule && w.Field == "enabled" && strings.Contains(w.Message, "not enabled")
		})
		if !warned {
			t.Errorf("nothing says why the schedule is disabled: %+v", plan.Warnings)
		}
		again := importing(t, s.Client, "awx", deploying("main"), "apply", "true")
		for name, text := range outcomes(again) {
			if !strings.HasPrefix(text, "skip") {
				t.Errorf("again, %s: %s", name, text)
			}
		}
		changed := importing(t, s.Client, "awx", deploying("release"), "apply", "true")
		for _, o := range changed.Objects {
			if want := []string{"branch"}; o.Action == importer.Update && (o.Name != "Site" || !cmp.Equal(want, o.Changes)) {
				t.Errorf("a changed branch updates %s %q: %v", o.Kind, o.Name, o.Changes)
			}
		}
		if changed.Counts.Update != 1 || changed.Counts.Create != 0 {
			t.Errorf("a changed branch counts %+v", changed.Counts)
		}
		s.Intact()
	})
}

// TestImportOfTooManyObjects: an export with more objects than one transaction takes is refused as a whole.
func TestImportOfTooManyObjects(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL})
		list := make([]string, importer.MaxObjects+1)
		for i := range list {
			list[i] = fmt.Sprintf(`{"name": "p%d", "scm_type": "git", "scm_url": "https://git.example.com/%[1]d"}`, i)
		}
		a := post(s.Client, "awx", `{"projects": [`+strings.Join(list, ",")+"]}")
		if a.Status != http.StatusRequestEntityTooLarge || !strings.Contains(string(a.Body), "10001 objects") {
			t.Errorf("%d %.300s", a.Status, a.Body)
		}
	})
}
