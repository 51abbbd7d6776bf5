package proof

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/leaf"
	"github.com/writ-automation/writ/ports/proof/receipt"
)

// evidence makes the evidence of run_1 as the server writes it.
func evidence(t *testing.T, r runs) []byte {
	t.Helper()
	made := r.receipt(t, "run_1", receipt.Sparse)
	signed := r.sign(t, made)
	var entries, decisions []map[string]any
	for _, e := range made.Entries {
		l, err := leaf.Scan([]byte(e.Leaf))
		if err != nil {
			t.Fatal(err)
		}
		hash := leaf.Hash([]byte(e.Leaf))
		at, err := l.Time()
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("%d:%x", l.Seq, hash[:])
		by := map[string]any{"id": l.Sub, "name": "ada"}
		entries = append(entries, map[string]any{"receipt": name, "at": at.Format(time.RFC3339Nano), "action": l.Act,
			"object": l.Obj, "outcome": l.Out, "details_hash": l.Det, "by": by})
		if l.Act == "run.cancel" {
			decisions = append(decisions, map[string]any{"receipt": name, "at": at.Format(time.RFC3339Nano),
				"verdict": "canceled", "reason": "late", "by": by})
		}
	}
	var v Verdict
	if v = checkReceipt(t, signed, Trust{}); !v.OK {
		t.Fatal(problems(v))
	}
	doc, err := json.Marshal(struct {
		Run       map[string]any   `json:"run"`
		Decisions []map[string]any `json:"decisions"`
		Log       string           `json:"log_digest"`
		Entries   []map[string]any `json:"receipts"`
		KeyID     string           `json:"key_id"`
		Receipt   json.RawMessage  `json:"receipt"`
		Problems  []any            `json:"problems"`
	}{map[string]any{"id": "run_1", "name": "patch", "kind": "ansible", "status": "succeeded", "exit_code": 0}, decisions,
		"sha256:" + strings.Repeat("07", 32), entries, v.SignedBy[len(v.SignedBy)-1], signed, []any{}})
	if err != nil {
		t.Fatal(err)
	}
	// The first member is the run, whose own first member is its id.
	return bytes.Replace(doc, []byte(`{"run":{"exit_code":0,"id":"run_1",`),
		[]byte(`{"run":{"id":"run_1","exit_code":0,`), 1)
}

func page(data []byte) []byte {
	return fmt.Appendf(nil, "<!DOCTYPE html>\n<p>text</p>\n%s%s</script>\n", dataOfPage, data)
}

// TestEvidence verifies documents as they are made, and names the place of every change in what the receipt covers.
func TestEvidence(t *testing.T) {
	t.Parallel()
	r := newRuns(t)
	good := evidence(t, r)
	report := func(run string) []byte {
		v := checkReceipt(t, r.sign(t, r.receipt(t, "run_1", receipt.Sparse)), Trust{})
		return fmt.Appendf(nil, `{"change":"C","receipts":[{"run_id":%q,"key_id":%q,"receipt":%s},`+
			`{"run_id":"run_3","key_id":%[2]q,"receipt":%[4]s}]}`, run, v.SignedBy[len(v.SignedBy)-1],
			r.sign(t, r.receipt(t, "run_1", receipt.Sparse)), r.sign(t, r.receipt(t, "run_3", receipt.Sparse)))
	}
	change := func(old, with string) []byte {
		out := bytes.Replace(good, []byte(old), []byte(with), 1)
		if bytes.Equal(out, good) {
			t.Fatalf("no %q in %s", old, good)
		}
		return out
	}
	for name, c := range map[string]struct {
		doc    []byte
		reason Reason
		detail string
	}{
		"json":            {good, "", "digests of output and events"},
		"page":            {page(good), "", "the listed entries"},
		"a name":          {change(`"patch"`, `"other"`), "", ""},
		"status":          {change(`"status":"succeeded"`, `"status":"failed"`), EvidenceDiffers, `run.status is "failed" in the document and "succeeded" in the receipt`},
		"exit code":       {change(`"exit_code":0`, `"exit_code":1`), EvidenceDiffers, "run.exit_code"},
		"id":              {change(`{"run":{"id":"run_1"`, `{"run":{"id":"run_2"`), EvidenceDiffers, "run.id"},
		"log":             {change("0707", "0708"), EvidenceDiffers, "log_digest"},
		"another case":    {change(`"status":"succeeded"`, `"Status":"succeeded"`), EvidenceDiffers, "run.status"},
		"action":          {change(`"action":"run.start"`, `"action":"run.submit"`), EvidenceDiffers, "receipts[1].action"},
		"verdict":         {change(`"verdict":"canceled"`, `"verdict":"approved"`), EvidenceDiffers, "decisions[0].verdict"},
		"who":             {change(`"by":{"id":"`, `"by":{"id":"x`), EvidenceDiffers, "by.id"},
		"commit":          {change(`"problems"`, `"commit":"abc","problems"`), EvidenceDiffers, "commit"},
		"an entry":        {change(`"receipt":"4:`, `"receipt":"5:`), EvidenceDiffers, "receipts[1]"},
		"key":             {change(`"key_id":"`, `"key_id":"x`), EvidenceDiffers, "key_id"},
		"no receipt":      {change(`"receipt":{`, `"other":{`), Unsigned, "nothing in it is signed"},
		"another receipt": {change(`"receipt":{"payload":`, `"receipt":{"x":`), Unsigned, "is no receipt"},
		"signature":       {change(`"sig":"`, `"sig":"AA`), FormatInvalid, ""},
		"its problems":    {change(`"problems":[]`, `"problems":[{"code":"x"}]`), "", "reports 1 problems"},
		"report":          {report("run_1"), "", "run_3: the receipt is of the run"},
		"report page":     {page(report("run_1")), "", ""},
		"report, changed": {report("run_2"), EvidenceDiffers, `receipts[0].run_id is "run_2"`},
		"empty report":    {[]byte(`{"change":"C","receipts":[]}`), Unsigned, ""},
	} {
		v, err := VerifyFile(t.Context(), bytes.NewReader(c.doc), r.trusted(), begin.Add(24*time.Hour))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		found := c.detail == ""
		for _, x := range v.Checks {
			found = found || strings.Contains(x.Detail, c.detail)
		}
		if v.Reason != c.reason || v.OK != (c.reason == "") || v.OK != v.Pinned && c.reason != EvidenceDiffers || !found {
			t.Errorf("%s: %s\n%s", name, v.Reason, v.Text())
		}
		if last := v.NotChecked[len(v.NotChecked)-1]; strings.Contains(name, "page") != (last == pageText) {
			t.Errorf("%s does not tell what is not checked: %q", name, v.NotChecked)
		}
	}
	for name, doc := range map[string]string{"change": `{"change":"C","runs":[]}`, "page": "<!DOCTYPE html><p>",
		"cut": string(good[:len(good)/2]), "two": string(page(page(good)))} {
		if _, err := VerifyFile(t.Context(), strings.NewReader(doc), Trust{}, begin); !errors.Is(err, ErrUnknownFile) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestHostsOfEvidence compares the host table with its digest, in whichever order the document has it.
func TestHostsOfEvidence(t *testing.T) {
	t.Parallel()
	canonical, err := keys.Encode([]any{map[string]any{"host": "a", "ok": 1}, map[string]any{"host": "b", "ok": 2}})
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(canonical)
	want := "sha256:" + hex.EncodeToString(sum[:])
	for hosts, ok := range map[string]bool{`[{"ok":2,"host":"b"},{"host":"a","ok":1}]`: true,
		`[{"ok":3,"host":"b"},{"host":"a","ok":1}]`: false, `[{"host":"a","ok":1}]`: false, `[]`: true} {
		var e dossier
		if err := e.read(map[string]json.RawMessage{"hosts": json.RawMessage(hosts)}); err != nil {
			t.Fatal(err)
		}
		if _, err := e.hosts(want); (err == nil) != ok {
			t.Errorf("%s: %v", hosts, err)
		}
	}
}
