package estate

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/e2e/harness"
)

// accounts makes accounts of a server and their tokens.
type accounts struct {
	*harness.Server
	t *testing.T
}

func (p accounts) made(path string, body harness.Body) (out struct{ ID, Token string }) {
	p.t.Helper()
	a := p.Do(http.MethodPost, path, body)
	if a.JSON(p.t, &out); a.Status != http.StatusCreated {
		p.t.Fatalf("POST %s: %d %s", path, a.Status, a.Body)
	}
	return out
}

// join makes an account and returns its id and a client of it.
func (p accounts) join(name, role string) (string, harness.Client) {
	p.t.Helper()
	id := p.made("/v1/users", harness.Body{"username": name, "role": role}).ID
	return id, p.As(p.made("/v1/tokens", harness.Body{"name": "test", "user_id": id}).Token)
}

// read answers a GET of a client into a value.
func (p accounts) read(c harness.Client, path string, into any) {
	p.t.Helper()
	a := c.Do(http.MethodGet, path, nil)
	if a.Status != http.StatusOK {
		p.t.Fatalf("GET %s: %d %s", path, a.Status, a.Body)
	}
	a.JSON(p.t, into)
}

type changed struct {
	Change, Outcome string
	Actors          []string
	Hosts           int
	Runs            []harness.Run
	Total, Withheld int
	Partial         bool
}

// TestChange has one change of real runs: one fails and is run again, two are held and decided by two accounts, and one
// may not be read by a viewer.
func TestChange(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, db string) {
		p := accounts{harness.Start(t, harness.Options{DB: db, Flags: []string{"--queue", "default", "--queue", "vault"}}), t}
		_, bob := p.join("bob", "admin")
		_, eve := p.join("eve", "admin")
		owner, _ := p.join("owner", "viewer")
		_, viewer := p.join("viewer", "viewer")
		p.made("/v1/grants", harness.Body{"subject": "user:" + owner, "object": "queue:vault", "level": "read"})

		const name, at = "CHG/1 <b>", "/v1/changes/"
		path := at + url.PathEscape(name)
		file := filepath.Join(harness.Shared(t), "there")
		body := func(command string) harness.Body {
			return harness.Body{"tool": "bash", "command": command, "change": name}
		}
		failed := p.Await(p.Submit(body("test -e " + file)).ID)
		var got changed
		if p.read(viewer, path, &got); failed.Status != "failed" || got.Outcome != "failed" {
			t.Errorf("after a failure it %s", got.Outcome)
		}
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		again := p.Await(p.Act("/v1/runs/" + failed.ID + "/rerun").ID)
		if got = (changed{}); again.Status != "succeeded" {
			t.Fatalf("the rerun %s", again.Status)
		}
		if p.read(viewer, path, &got); got.Outcome != "succeeded" {
			t.Errorf("after a rerun it %s", got.Outcome)
		}
		held := func() string {
			b := body("true")
			b["require_approval"] = true
			return p.Submit(b).ID
		}
		one, two := held(), held()
		if got = (changed{}); true {
			p.read(viewer, path, &got)
		}
		if got.Outcome != "in_progress" {
			t.Errorf("while runs are held it %s", got.Outcome)
		}
		for _, a := range []harness.Answer{bob.Do(http.MethodPost, "/v1/runs/"+one+"/approve", harness.Body{"reason": "go"}),
			eve.Do(http.MethodPost, "/v1/runs/"+two+"/reject", harness.Body{"reason": "no"})} {
			if a.Status != http.StatusOK {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
		}
		p.Await(one)
		secret := body("true")
		secret["queue"] = "vault"
		hidden := p.Await(p.Submit(secret).ID)

		ids := []string{failed.ID, again.ID, one, two, hidden.ID}
		for _, c := range []struct {
			who      harness.Client
			runs     []string
			withheld int
		}{{p.Client, ids, 0}, {viewer, ids[:4], 1}} {
			got = changed{}
			p.read(c.who, path, &got)
			var runs []string
			for _, r := range got.Runs {
				runs = append(runs, r.ID)
			}
			if diff := cmp.Diff(c.runs, runs); diff != "" || got.Outcome != "partial" || got.Withheld != c.withheld ||
				got.Total != len(runs) || got.Change != name || got.Partial {
				t.Errorf("%+v\n%s", got, diff)
			}
			if !slices.Contains(got.Actors, "bob") || !slices.Contains(got.Actors, "eve") || len(got.Actors) != 3 {
				t.Errorf("who acted: %v", got.Actors)
			}
		}
		p.listed(viewer, name)
		if a := viewer.Do(http.MethodGet, at+"other", nil); a.Status != http.StatusNotFound {
			t.Errorf("another change: %d", a.Status)
		}
		if a := p.As("").Do(http.MethodGet, path, nil); a.Status != http.StatusUnauthorized {
			t.Errorf("nobody: %d", a.Status)
		}
		p.report(viewer, path, ids)
	})
}

// listed finds a change in the list: there is one, of four runs that the viewer may read.
func (p accounts) listed(viewer harness.Client, name string) {
	p.t.Helper()
	var list struct {
		Changes []struct {
			Change, Outcome string
			Runs            int
		}
		Total, Scanned int
	}
	if p.read(viewer, "/v1/changes", &list); len(list.Changes) != 1 || list.Total != 1 || list.Scanned != 4 ||
		list.Changes[0].Change != name || list.Changes[0].Runs != 4 || list.Changes[0].Outcome != "partial" {
		p.t.Errorf("%+v", list)
	}
}

// report verifies each receipt of the report without the server.
func (p accounts) report(viewer harness.Client, path string, ids []string) {
	p.t.Helper()
	a := viewer.Do(http.MethodGet, path, nil, "Accept", "text/html,*/*;q=0.5")
	text := string(a.Body)
	for _, says := range []string{"The change was done in part", "1 run of this change may not be read", "approved by bob",
		"rejected by eve", "CHG/1 &lt;b&gt;"} {
		if !strings.Contains(text, says) {
			p.t.Errorf("the report does not say %q", says)
		}
	}
	if strings.Contains(text, ids[4]) || strings.Contains(text, "CHG/1 <b>") {
		p.t.Error("the report tells more than it may")
	}
	_, rest, _ := strings.Cut(text, `<script type="application/json" id="evidence">`)
	doc, _, _ := strings.Cut(rest, "</script>")
	var receipts struct {
		Receipts []struct {
			RunID   string `json:"run_id"`
			Receipt json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(doc), &receipts); err != nil || len(receipts.Receipts) != 4 {
		p.t.Fatalf("%d receipts, %v", len(receipts.Receipts), err)
	}
	dir := p.t.TempDir()
	seal := filepath.Join(dir, "seal.json")
	if err := os.WriteFile(seal, p.As("").Do(http.MethodGet, "/.well-known/seal.json", nil).Body, 0o600); err != nil {
		p.t.Fatal(err)
	}
	for i, r := range receipts.Receipts {
		file := filepath.Join(dir, r.RunID+".json")
		if err := os.WriteFile(file, r.Receipt, 0o600); err != nil {
			p.t.Fatal(err)
		}
		out, err := exec.Command(harness.Binary(p.t), "audit", "verify", file, "--seal", seal).CombinedOutput()
		if err != nil || r.RunID != ids[i] {
			p.t.Errorf("the receipt of %s: %v\n%s", r.RunID, err, out)
		}
	}
}
