package runs

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/runs"
)

// drawn is a run in any state whose texts contain what JSON has to escape.
func drawn(t *rapid.T) *runs.Run {
	text := func(name string) string { return rapid.StringN(0, 12, 40).Draw(t, name) }
	at := func(name string) time.Time { return time.UnixMicro(rapid.Int64Range(1, 1e15).Draw(t, name)).UTC() }
	r := &runs.Run{
		ID: fmt.Sprint("run_", rapid.IntRange(1, 4).Draw(t, "id")), Revision: rapid.Int64Range(1, 3).Draw(t, "revision"),
		Status: rapid.SampledFrom(runs.Statuses()).Draw(t, "status"), Kind: runs.Single, Name: "<&>\u2028" + text("name"),
		Error: text("error"), Actor: actor.Actor{Type: actor.User, Name: text("actor")}, CreatedAt: at("created"),
		StartedAt: at("started"), Labels: map[string]string{text("key"): text("value")},
		Hosts: map[runs.Outcome]int{"ok": 2}, EventCount: 3,
	}
	if r.Status.Terminal() {
		r.EndedAt = r.StartedAt.Add(time.Duration(rapid.Int64Range(0, 1e12).Draw(t, "took")))
	}
	r.Spec.Command = text("command")
	r.Spec.CredentialIDs = rapid.SliceOfN(rapid.SampledFrom([]string{"crd_1", "crd_2"}), 0, 2).Draw(t, "credentials")
	return r
}

// TestRowsAreThoseOfJSON shows lists of runs again and again, with time between: each row is what encoding/json makes
// of it at that time. A record with the same revision differs between readers only in its credentials.
func TestRowsAreThoseOfJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		texts, known := newRowTexts(), map[string]*runs.Run{}
		now := time.Now()
		for range 5 {
			var list []*runs.Run
			for range rapid.IntRange(0, 5).Draw(t, "rows") {
				r := drawn(t)
				key := fmt.Sprint(r.ID, r.Revision)
				if was := known[key]; was != nil && was.Status.Terminal() {
					shown := *was
					shown.Spec.CredentialIDs = r.Spec.CredentialIDs
					r = &shown
				}
				known[key], list = r, append(list, r)
			}
			now = now.Add(time.Minute)
			got, err := texts.of(list, now)
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range list {
				want, err := httpapi.Encode(httpapi.RunRow(r, now))
				if err != nil || !bytes.Equal(got[i], want) {
					t.Fatalf("row %d, %v:\n%s\n%s", i, err, got[i], want)
				}
			}
		}
	})
}

func TestRowsAreKeptWithinBounds(t *testing.T) {
	t.Parallel()
	texts, now := newRowTexts(), time.Now()
	of := func(r *runs.Run) {
		if _, err := texts.of([]*runs.Run{r}, now); err != nil {
			t.Fatal(err)
		}
	}
	of(&runs.Run{ID: "run_running", Status: runs.Running})
	of(&runs.Run{ID: "run_large", Status: runs.Failed, EndedAt: now, Error: strings.Repeat("x", maxRowText)})
	if len(texts.young) != 0 {
		t.Errorf("kept: %v", texts.young)
	}
	for i := range 2000 {
		of(&runs.Run{ID: fmt.Sprint("run_", i), Status: runs.Failed, EndedAt: now, Error: strings.Repeat("x", maxRowText/2)})
		size := 0
		for _, m := range []map[rowKey][]byte{texts.young, texts.old} {
			for _, text := range m {
				size += len(text) + perRow
			}
		}
		if size > 2*rowTextGeneration {
			t.Fatalf("%d bytes are kept", size)
		}
	}
	if len(texts.old) == 0 {
		t.Error("no generation was filled")
	}
}
