package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

const password = "a long enough secret"

// entry is one line of GET /v1/audit.
type entry struct {
	Seq   int64  `json:"seq"`
	ID    string `json:"id"`
	At    string `json:"at"`
	Actor struct {
		Type string `json:"type"`
		ID   string `json:"id"`
		Name string `json:"name"`
		IP   string `json:"ip"`
	} `json:"actor"`
	Action      string                     `json:"action"`
	Method      string                     `json:"method"`
	Path        string                     `json:"path"`
	Object      struct{ Kind, ID string }  `json:"object"`
	Run         string                     `json:"run"`
	Outcome     string                     `json:"outcome"`
	Text        string                     `json:"text"`
	Details     map[string]json.RawMessage `json:"details"`
	DetailsHash string                     `json:"details_hash"`
	PrevHash    string                     `json:"prev_hash"`
	Hash        string                     `json:"hash"`
}

// consequences lists the entries that follow from a request in addition to its own entry.
func consequences() []string {
	return []string{"run.hold", "run.start", "run.final", "audit.beat", "ai.propose"}
}

// trail returns the entries after seq, oldest first.
func trail(t *testing.T, s *harness.Server, seq int64) []entry {
	t.Helper()
	var out []entry
	for before := int64(0); ; {
		path := "/v1/audit?limit=1000"
		if before > 0 {
			path += fmt.Sprint("&before=", before)
		}
		var p struct {
			Entries    []entry `json:"entries"`
			Count      int     `json:"count"`
			HasMore    bool    `json:"has_more"`
			NextBefore int64   `json:"next_before"`
		}
		a := s.Do(http.MethodGet, path, nil)
		if a.Status != http.StatusOK {
			t.Fatalf("GET %s: %d %s", path, a.Status, a.Body)
		}
		if a.JSON(t, &p); p.Count != len(p.Entries) || p.HasMore != (p.NextBefore > 0) {
			t.Fatalf("count %d of %d entries, has_more %t, next_before %d", p.Count, len(p.Entries), p.HasMore, p.NextBefore)
		}
		for _, e := range p.Entries {
			if e.Seq > seq {
				out = append(out, e)
			}
		}
		if !p.HasMore || len(p.Entries) > 0 && p.Entries[len(p.Entries)-1].Seq <= seq {
			slices.Reverse(out)
			return out
		}
		before = p.NextBefore
	}
}

// newest returns the number of the newest entry.
func newest(t *testing.T, s *harness.Server) int64 {
	t.Helper()
	var p struct {
		Entries []entry `json:"entries"`
	}
	a := s.Do(http.MethodGet, "/v1/audit?limit=1", nil)
	if a.JSON(t, &p); a.Status != http.StatusOK || len(p.Entries) != 1 {
		t.Fatalf("the newest entry: %d %s", a.Status, a.Body)
	}
	return p.Entries[0].Seq
}

// own returns the entries that are not consequences.
func own(list []entry) []entry {
	return slices.DeleteFunc(slices.Clone(list), func(e entry) bool { return slices.Contains(consequences(), e.Action) })
}

// verdict is the answer of GET /v1/audit/verify, and the body of a refused bundle.
type verdict struct {
	OK             bool   `json:"ok"`
	Count          int64  `json:"count"`
	Head           string `json:"head"`
	BrokeAt        int64  `json:"broke_at"`
	BrokeSeq       int64  `json:"broke_seq"`
	Reason         string `json:"reason"`
	Anchored       int64  `json:"anchored"`
	AnchorProblems []struct {
		ID      string `json:"id"`
		Kind    string `json:"kind"`
		Size    int64  `json:"size"`
		Problem string `json:"problem"`
	} `json:"anchor_problems"`
}

func verify(t *testing.T, s *harness.Server) verdict {
	t.Helper()
	var v verdict
	a := s.Do(http.MethodGet, "/v1/audit/verify", nil)
	if a.JSON(t, &v); a.Status != http.StatusOK {
		t.Fatalf("verify: %d %s", a.Status, a.Body)
	}
	return v
}

// intact fails unless the chain verifies.
func intact(t *testing.T, s *harness.Server) verdict {
	t.Helper()
	v := verify(t, s)
	if !v.OK || v.Count == 0 || len(v.Head) != 64 || len(v.AnchorProblems) > 0 {
		t.Errorf("the chain: %+v", v)
	}
	return v
}

// writ runs a command on the install of a server and returns its output.
func writ(t *testing.T, arg ...string) (out string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), harness.Binary(t), arg...)
	var content, complained bytes.Buffer
	cmd.Stdout, cmd.Stderr = &content, &complained
	err := cmd.Run()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	if code = cmd.ProcessState.ExitCode(); code != 0 {
		content.WriteString(complained.String())
	}
	return content.String(), code
}

// must runs a command and fails unless it has this exit code.
func must(t *testing.T, code int, arg ...string) string {
	t.Helper()
	out, got := writ(t, arg...)
	if got != code {
		t.Fatalf("writ %s: exit code %d, want %d\n%s", strings.Join(arg, " "), got, code, out)
	}
	return out
}

// saved saves an answer in a file.
func saved(t *testing.T, s harness.Client, path, name string) string {
	t.Helper()
	a := s.Do(http.MethodGet, path, nil)
	if a.Status != http.StatusOK {
		t.Fatalf("GET %s: %d %s", path, a.Status, a.Body)
	}
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, a.Body, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// script is a run of a few lines.
func script(command string) harness.Body { return harness.Body{"tool": "bash", "command": command} }
