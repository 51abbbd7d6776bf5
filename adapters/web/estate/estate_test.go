package estate

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/runs"
)

const hostile = `<script>alert(1)</script>"><img src=x onerror=alert(1)>` + "\u202e" + `' onclick='x`

func now() time.Time { return time.Date(2026, 11, 26, 14, 10, 0, 0, time.UTC) }

// render returns the markup of a component, and checks that no text of another became markup.
func render(t *testing.T, c templ.Component) string {
	t.Helper()
	var b strings.Builder
	ctx := shell.WithViewer(t.Context(), shell.Viewer{ID: "usr_1", Name: "Ada Reyes", Role: identity.Admin}, now())
	if err := c.Render(ctx, &b); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<script", "<img", ` style=`, `javascript:`} {
		if strings.Contains(b.String(), bad) {
			t.Errorf("the markup has %q", bad)
		}
	}
	bare := regexp.MustCompile(`"[^"]*"`).ReplaceAllString(b.String(), `""`)
	if tag := regexp.MustCompile(`<[a-z][^>]*\son[a-z]+=`).FindString(bare); tag != "" {
		t.Errorf("an element has a handler: %s", tag)
	}
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(`\sid="([^"]*)"`).FindAllStringSubmatch(b.String(), -1) {
		if ids[m[1]] {
			t.Errorf("the id %s is there twice", m[1])
		}
		ids[m[1]] = true
	}
	return b.String()
}

func hostileVersions() *versionsView {
	is := catalog.InventoryVersion{Number: 2, By: actor.Actor{Name: hostile}, How: catalog.Refreshed, SourceID: hostile,
		Format: hostile, At: now(), Digest: hostile}
	var value any = hostile
	d := catalog.EntryDiff{Added: []string{hostile}, Removed: []string{hostile}, Changed: []catalog.ChangedEntry{{
		Name: hostile, Joined: []string{hostile}, Left: []string{hostile},
		Vars: []catalog.ChangedVar{{Name: hostile, Had: true, Has: true, From: value, To: value}}}}}
	return &versionsView{Path: inventoryPath(hostile), Total: 2, List: []catalog.InventoryVersion{is, {Number: 1}},
		Diff:  &catalog.InventoryDiff{To: is, Hosts: d, Groups: d, Truncated: true},
		Lines: diffLines("@@ " + hostile + "\n+" + hostile + "\n-" + hostile + "\n " + hostile + "\n")}
}

// TestLinksOfVersions: the oldest version that is kept has no difference, unless it is the first one.
func TestLinksOfVersions(t *testing.T) {
	t.Parallel()
	v := versionsView{Path: "/x", List: []catalog.InventoryVersion{{Number: 3}, {Number: 2}}}
	if a, b := v.link(0), v.link(1); a != "/x?version=3&view=versions" || b != "/x?version=2&view=content" {
		t.Errorf("%s %s", a, b)
	}
	v.List = append(v.List, catalog.InventoryVersion{Number: 1})
	if a, b := v.link(1), v.link(2); a != "/x?version=2&view=versions" || b != "/x?version=1&view=versions" {
		t.Errorf("%s %s", a, b)
	}
}

func TestChangedVariables(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]catalog.ChangedVar{
		"a=1":       {Name: "a", Has: true, To: 1},
		"a=x →":     {Name: "a", Had: true, From: "x"},
		"a=x → [1]": {Name: "a", Had: true, Has: true, From: "x", To: []any{1}},
		"a":         {Name: "a", Had: true, Has: true}, // the values are left out
	} {
		if got := changedVar(v); got != want {
			t.Errorf("%q instead of %q", got, want)
		}
	}
}

func TestHostileTexts(t *testing.T) {
	t.Parallel()
	record := object.Record{ID: hostile, Name: hostile, Revision: 3}
	source := catalog.InventorySource{Record: record, Kind: catalog.HTTPSource, LastError: hostile, Dropped: hostile}
	inventory := catalog.Inventory{Record: record, Format: catalog.INI, Digest: hostile, Content: []byte(hostile)}
	render(t, inventoriesPage(inventoriesView{Query: hostile, Total: 1,
		Rows: []inventoryRow{{Inventory: inventory, Sources: []catalog.InventorySource{source}}}}))
	render(t, inventoriesPage(inventoriesView{}))
	for _, view := range []string{viewGroups, viewHosts, viewContent, viewSources, viewVersions} {
		render(t, inventoryPage(inventoryView{Inventory: inventory, View: view, Path: inventoryPath(hostile),
			Sources: []catalog.InventorySource{source}, Tree: []node{{Name: hostile, Level: 99}, {Name: hostile, Again: true}},
			Hosts: []catalog.HostEntry{{Name: hostile, Groups: []string{hostile}, Vars: map[string]any{hostile: hostile}}},
			Lines: []string{hostile, ""}, Limit: hostile, Refused: hostile, Versions: hostileVersions()}))
	}
	buckets := timeline{Buckets: []estate.Bucket{{At: now().Add(-time.Hour), Readings: 3, Changed: 1}, {At: now()}},
		From: now()}
	at := atView{By: hostile, Facts: []string{hostile}, Refused: hostile, Timeline: buckets, Remarks: []string{hostile},
		Groups: []group{{Value: hostile, Count: 9, Hosts: []string{hostile}, Course: []int{1, 2}}, {None: true}}}
	if got := render(t, atPage(at)); strings.Count(got, `fill="url(#hatch)"`) != 1 {
		t.Error("a part without readings is not hatched")
	}
	at.Diff = &diffView{DiffSummary: estate.DiffSummary{Added: []string{hostile}, Unobserved: []string{hostile}},
		Folds: []changeFold{{Key: hostile, From: hostile, To: hostile, Had: true, Has: true, Count: 2,
			Hosts: []string{hostile}}}}
	render(t, atPage(at))
	finding := estate.Finding{ID: hostile, Host: hostile, Resource: hostile, Tasks: []string{hostile}, Path: hostile,
		Target: estate.Target{ID: hostile}, RunID: hostile, ReconcileRunID: hostile, FirstSeen: now()}
	render(t, driftPage(driftView{Host: hostile, Target: hostile, Query: url.Values{}, Tier: hostile,
		Outcomes: []outcome{{Host: hostile, Problem: hostile}, {Host: hostile, Run: hostile}},
		Targets: []targetRow{{Name: hostile, Inventory: hostile, Target: estate.Target{Playbook: hostile,
			TemplateID: "tpl_1"}}},
		Rows: []driftFold{{Finding: finding, Name: hostile, Hosts: []string{hostile, "b"},
			Diff: []fileDiff{{Title: hostile, Before: hostile, After: hostile}}}},
		Ignores: []estate.Ignore{{Record: record, Host: hostile, Resource: hostile, Reason: hostile}}}))
	change := estate.Change{Change: hostile, Outcome: estate.ChangeFailed, Actors: []string{hostile}, FirstAt: now(),
		LastAt: now()}
	render(t, changesPageOf(changesView{ChangeList: estate.ChangeList{Changes: []estate.Change{change}, Partial: true},
		Tier: hostile}))
	run := &runs.Run{ID: hostile, Name: hostile, Error: hostile, Actor: actor.Actor{Name: hostile}, CreatedAt: now(),
		Decision: &runs.Decision{By: actor.Actor{Name: hostile}, Reason: hostile, At: now()},
		Canceled: &runs.Cancellation{By: actor.Actor{Name: hostile}, At: now()}}
	render(t, changePage(changeView{ChangeDetail: estate.ChangeDetail{Change: change, Members: []*runs.Run{run},
		Touched: []string{hostile}}}))
}

func TestTree(t *testing.T) {
	t.Parallel()
	list, cut := tree([]catalog.GroupEntry{{Name: "all", Hosts: 3, Children: []string{"ungrouped", "eu", "web"}},
		{Name: "ungrouped"},
		{Name: "eu", Hosts: 2, Children: []string{"web"}}, {Name: "web", Hosts: 2, Children: []string{"edge"}},
		{Name: "edge"}})
	var got []string
	for _, n := range list {
		got = append(got, fmt.Sprintf("%d %s %v", n.Level, n.Name, n.Again))
	}
	want := "1 all false; 2 eu false; 3 web false; 4 edge false; 2 web true"
	if strings.Join(got, "; ") != want || cut {
		t.Errorf("%v, %v", got, cut)
	}
	deep := make([]catalog.GroupEntry, 0, 100)
	for i := range 100 {
		deep = append(deep, catalog.GroupEntry{Name: fmt.Sprint("g", i), Children: []string{fmt.Sprint("g", i+1)}})
	}
	deep[0].Name = "all"
	if list, cut := tree(deep); len(list) != maxDepth || !cut {
		t.Errorf("%d lines, cut %v", len(list), cut)
	}
}

func TestFoldersAreBounded(t *testing.T) {
	t.Parallel()
	f := folder{by: "k", groups: map[string]*group{}}
	for i := range maxValues + 50 {
		value, err := json.Marshal(fmt.Sprint("v", i))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := f.add(estate.Reading{Host: "h", Facts: estate.Facts{"k": value}, GatheredAt: now()}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(f.groups) != maxValues || f.others != 100 || f.groups["v0"].Count != 2 {
		t.Errorf("%d groups, %d others", len(f.groups), f.others)
	}
	c := changeFolder{folds: map[foldKey]*changeFold{}}
	for i := range maxFolds + 10 {
		change := estate.FactChange{Key: "k", From: json.RawMessage(fmt.Sprint(i)), To: json.RawMessage("1")}
		for range samples + 1 {
			if err := c.add(estate.HostChange{Host: "h", Facts: []estate.FactChange{change}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	fold := c.folds[foldKey{"k", "0", "1"}]
	if len(c.folds) != maxFolds || c.others != 10*(samples+1) || fold.Count != samples+1 || len(fold.Hosts) != samples {
		t.Errorf("%d folds, %d others, %+v", len(c.folds), c.others, fold)
	}
}

func TestValueOf(t *testing.T) {
	t.Parallel()
	facts := estate.Facts{"os.a": json.RawMessage(`"x"`), "os.b": json.RawMessage(`2`)}
	if got, ok := valueOf(facts, "os"); got != "a=x, b=2" || !ok {
		t.Error(got)
	}
	if _, ok := valueOf(estate.Facts{}, "os"); ok {
		t.Error("a fact that is not there is known")
	}
}

func TestInstant(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("east", 2*60*60)
	for text, want := range map[string]string{"2026-11-26T14:10": "2026-11-26T12:10:00Z",
		"2026-11-26":           "2026-11-25T22:00:00Z",
		"2026-11-26T14:10:00Z": "2026-11-26T14:10:00Z"} {
		got, err := instant(zone, text)
		if err != nil || got.UTC().Format(time.RFC3339) != want {
			t.Errorf("%s is %s, want %s: %v", text, got, want, err)
		}
	}
	if _, err := instant(zone, "yesterday"); err == nil {
		t.Error("yesterday is no instant")
	}
}

func TestSliderPositions(t *testing.T) {
	t.Parallel()
	v := atView{Query: url.Values{"by": {"k"}}, Timeline: timeline{From: now().Add(-3 * time.Hour), To: now(),
		Buckets: []estate.Bucket{
			{At: now().Add(-3 * time.Hour)}, {At: now().Add(-2 * time.Hour)}, {At: now().Add(-time.Hour)}}}}
	for got, want := range map[string]string{
		v.chosen(2, 2, false): "/ui/estate?by=k",
		v.chosen(0, 2, false): "/ui/estate?at=2026-11-26T12%3A10%3A00Z&by=k",
		v.chosen(2, 0, true):  "/ui/estate?at=2026-11-26T12%3A10%3A00Z&by=k&to=2026-11-26T14%3A10%3A00Z",
		v.chosen(0, 9, true):  "/ui/estate?at=2026-11-26T12%3A10%3A00Z&by=k&to=2026-11-26T14%3A10%3A00Z",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if i := v.Timeline.bucket(now().Add(-2 * time.Hour)); i != 0 || v.Timeline.perDay() != 24 {
		t.Errorf("bucket %d, %d a day", i, v.Timeline.perDay())
	}
}

func TestDriftIsFolded(t *testing.T) {
	t.Parallel()
	f := func(host, title, after string) estate.Finding {
		return estate.Finding{Host: host, Resource: "copy /etc/" + host, Tasks: []string{"a"},
			Target:    estate.Target{ID: "t"},
			FirstSeen: now(), Diff: json.RawMessage(`[{"after_header":"` + title + `","before":"x","after":"` + after + `"}]`)}
	}
	list := foldDrift([]estate.Finding{f("web1", "tmp1", "y"), f("web2", "tmp2", "y"), f("web3", "tmp3", "z")},
		namesOf{})
	if len(list) != 2 || len(list[0].Hosts) != 2 || list[0].Diff[0].After != "y" {
		t.Errorf("%+v", list)
	}
	for _, raw := range []string{``, `null`, `"text"`, `[{"before":null}]`, `{"prepared":"p"}`, `[1]`,
		`{"before":{"a":1}}`} {
		for _, d := range readDiff(json.RawMessage(raw)) {
			if d.Before == "" && d.After == "" {
				t.Errorf("%s has an empty difference", raw)
			}
		}
	}
}

func TestStatesOfTargets(t *testing.T) {
	t.Parallel()
	for want, row := range map[string]targetRow{
		"Drifting: 0 not known":       {Findings: 1, Reached: 2, Drifting: 1, Clean: 1, Checked: 4},
		"Not checked: 3 not known":    {Hosts: 3},
		"Not checked: 2 not known":    {Hosts: 2, Reached: 2, Unknown: 5},
		"Partly checked: 2 not known": {Hosts: 3, Reached: 1, Clean: 1, Checked: 1},
		"Partly checked: 1 not known": {Reached: 2, Clean: 1, Checked: 3, Unknown: 1},
		"No drift found: 0 not known": {Hosts: 3, Reached: 3, Clean: 3, Checked: 3},
	} {
		if got := fmt.Sprintf("%s: %d not known", targetState(row).Word, row.unknown()); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	for want, p := range map[string]estate.DriftPage{
		"No dry run has checked anything, so drift is not known.":                            {},
		"Dry runs could check no task, so drift is not known; 5 tasks could not be checked.": {Hosts: 2, Unknown: 5},
		"No drift was found in the 4 tasks that dry runs checked on 2 hosts.": {Hosts: 2, Checked: 4,
			Clean: 2},
		"1 resource drifts, of the 4 tasks that dry runs checked on 2 hosts; 1 task could not be checked.": {Total: 1,
			Hosts: 2, Drifting: 1, Checked: 4, Unknown: 1},
		"Nothing that the run was made to repair drifts now.": {Hosts: 2, Drifting: 1, Checked: 4},
	} {
		if got := driftText(driftView{}, p); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	remarks := strings.Join(driftRemarks(estate.DriftPage{Ignored: 1, Withheld: 2}), " ")
	for _, want := range []string{"1 resource is left out by rules", "2 resources are withheld"} {
		if !strings.Contains(remarks, want) {
			t.Errorf("%q lacks %q", remarks, want)
		}
	}
}
