package trust

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
)

func TestEachActionHasAPhrase(t *testing.T) {
	t.Parallel()
	for _, a := range audit.Actions() {
		if phrase(a) == "" {
			t.Errorf("%s has no phrase", a)
		}
	}
}

func TestLinesEscapeAndNameErasures(t *testing.T) {
	t.Parallel()
	const hostile = `"><script>alert(1)</script>`
	now := time.Date(2026, 8, 5, 12, 0, 0, 0, time.UTC)
	ctx := shell.WithViewer(t.Context(), shell.Viewer{}, now)
	var b strings.Builder
	for _, l := range []audit.Line{
		{Seq: 48211, At: now, Action: audit.RunApprove, Actor: actor.Actor{Type: actor.User, Name: hostile},
			Object: audit.Object{Kind: "run", ID: "run_01k0a8bq3vtx5zk9w2m4n6p8rs"}, Text: hostile,
			Details: json.RawMessage(`{"reason":"</pre><script>"}`), Agent: "coder/1.2 <script>"},
		{Seq: 2, At: now, Action: audit.UserCreate, Outcome: audit.Denied, Actor: actor.Actor{Type: actor.User, ID: "usr_x"}},
		{Seq: 3, At: now, Action: audit.RunStart, Actor: actor.Actor{Type: actor.Worker, ID: "wkr_x"}},
		{Seq: 4, At: now, Action: audit.RunStart, Actor: actor.Actor{Type: actor.Worker, Name: "relay/edge~0a1b2c3d"}},
	} {
		if err := line(l).Render(ctx, &b); err != nil {
			t.Fatal(err)
		}
	}
	page := b.String()
	for _, want := range []string{"48,211", "released", "/ui/runs/run_01k0a8bq3vtx5zk9w2m4n6p8rs", ">run n6p8rs<",
		shell.ErasedText, deniedText, "created", "<b>A worker</b>", "<b>edge</b>", programText + " coder/1.2"} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing in %s", want, page)
		}
	}
	if strings.Contains(page, "<script") || strings.Contains(page, "style=") {
		t.Error(page)
	}
}

func TestVerdictSaysWhatItClaims(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]stateView{
		"3 entries sealed. Nobody has had them checked since this server started.": {Size: 3},
		"Intact to entry 1,000.":                       {Verdict: &verdict{OK: true, Count: 1000}},
		"Broken at entry 48,211.":                      {Verdict: &verdict{BrokeSeq: 48211}},
		"The trail does not hold: anchor unsatisfied.": {Verdict: &verdict{Reason: "anchor_unsatisfied"}},
	} {
		if got := verdictSentence(v); got != want {
			t.Errorf("%q instead of %q", got, want)
		}
	}
}
