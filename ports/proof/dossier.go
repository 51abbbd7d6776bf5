package proof

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/leaf"
	"github.com/writ-automation/writ/ports/proof/receipt"
	"github.com/writ-automation/writ/ports/proof/tree"
)

// dossier is what the evidence of a run says. Its members are read by their exact names, as other readers do.
type dossier struct {
	doc, run map[string]any
	problems int
}

func (e *dossier) read(doc map[string]json.RawMessage) error {
	e.doc = map[string]any{}
	for name, raw := range doc {
		if name == "receipt" {
			continue
		}
		v, err := numbered(raw)
		if err != nil {
			return fmt.Errorf("%s is not JSON: %w", name, err)
		}
		e.doc[name] = v
	}
	e.run, _ = e.doc["run"].(map[string]any)
	problems, _ := e.doc["problems"].([]any)
	e.problems = len(problems)
	return nil
}

// numbered reads JSON whose numbers keep their digits.
func numbered(raw []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// shown returns a value as text, empty for an absent one.
func shown(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// results compares the run with the digest of its results, which the receipt covers.
func (e *dossier) results(d *receipt.Document) (string, error) {
	v, err := numbered(d.Run)
	if err != nil {
		return "", err
	}
	signed, _ := v.(map[string]any)
	log, _ := signed["log"].(map[string]any)
	events, _ := signed["events"].(map[string]any)
	type pair struct{ name, document, receipt string }
	pairs := []pair{{"run.id", shown(e.run["id"]), d.Digest.ID}}
	if d.Digest.Status != "" {
		pairs = append(pairs, pair{"run.status", shown(e.run["status"]), d.Digest.Status})
	}
	covered := "the id of the run is that of the receipt; it has not ended, so that no results are signed"
	if !d.Digest.Bare {
		covered = "the status, commit, times, exit code, digests of output and events of the run are those of the receipt"
		pairs = append(pairs, pair{"run.kind", shown(e.run["kind"]), shown(signed["kind"])},
			pair{"run.tool", shown(e.run["tool"]), shown(signed["tool"])},
			pair{"commit", shown(e.doc["commit"]), shown(signed["commit"])},
			pair{"run.exit_code", shown(e.run["exit_code"]), shown(signed["exit_code"])},
			pair{"run.started_at", instant(e.run["started_at"]), instant(signed["started_at"])},
			pair{"run.ended_at", instant(e.run["ended_at"]), instant(signed["ended_at"])})
		if sum := shown(log["sha256"]); sum != "" {
			pairs = append(pairs, pair{"log_digest", shown(e.doc["log_digest"]), "sha256:" + sum})
		}
		if root := shown(events["root"]); root != "" {
			pairs = append(pairs, pair{"events_digest", shown(e.doc["events_digest"]), root})
		}
		if id := shown(e.run["inventory_id"]); id != "" {
			sum := sha256.Sum256([]byte(id))
			pairs = append(pairs, pair{"run.inventory_id", "sha256:" + hex.EncodeToString(sum[:]), shown(signed["inventory"])})
		}
	}
	for _, p := range pairs {
		if p.document != p.receipt {
			return "", fmt.Errorf("%s is %q in the document and %q in the receipt", p.name, p.document, p.receipt)
		}
	}
	hosts, err := e.hosts(shown(signed["hosts"]))
	return covered + hosts, err
}

// instant returns a time in one form, other texts unchanged.
func instant(v any) string {
	if at, err := time.Parse(time.RFC3339, shown(v)); err == nil {
		return leaf.At(at)
	}
	return shown(v)
}

// hosts compares the host table with its digest, unless the document or the digest has none.
func (e *dossier) hosts(want string) (string, error) {
	list, _ := e.doc["hosts"].([]any)
	switch {
	case len(list) == 0 && want == "":
		return "", nil
	case len(list) == 0 || want == "" || e.doc["hosts_omitted"] != nil:
		return "; the results of the hosts are not compared", nil
	}
	table := slices.Clone(list)
	slices.SortFunc(table, func(a, b any) int { return strings.Compare(hostOf(a), hostOf(b)) })
	canonical, err := keys.Encode(table)
	if err != nil {
		return "", fmt.Errorf("hosts: %w", err)
	}
	if sum := sha256.Sum256(canonical); want != "sha256:"+hex.EncodeToString(sum[:]) {
		return "", fmt.Errorf("hosts: the results of the hosts do not have the digest in the receipt, %s", want)
	}
	return "; so are the results of its hosts", nil
}

func hostOf(v any) string {
	m, _ := v.(map[string]any)
	return shown(m["host"])
}

// listed compares the listed entries, and the holds and decisions that name one, with the entries of the receipt.
func (e *dossier) listed(d *receipt.Document) (string, error) {
	signed := map[string]leaf.Leaf{}
	places := map[int64]string{}
	for i := range d.Entries {
		l, err := leaf.Scan([]byte(d.Entries[i].Leaf))
		if err != nil {
			return "", err
		}
		hash := tree.Hash(leaf.Hash([]byte(d.Entries[i].Leaf)))
		name := fmt.Sprintf("%d:%s", l.Seq, hex.EncodeToString(hash[:]))
		signed[name], places[l.Seq] = l, name
	}
	last, list := int64(0), rowsOf(e.doc["receipts"])
	for i, row := range list {
		l, ok := signed[shown(row["receipt"])]
		if !ok {
			return "", fmt.Errorf("receipts[%d]: the entry %q is not in the receipt", i, shown(row["receipt"]))
		}
		last = max(last, l.Seq)
		delete(places, l.Seq)
		if row["action"] == nil {
			continue // the document says itself that the stored entry was changed
		}
		by, _ := row["by"].(map[string]any)
		if err := matching(fmt.Sprintf("receipts[%d]", i), [][3]string{{"action", shown(row["action"]), l.Act},
			{"at", instant(row["at"]), l.At}, {"object", shown(row["object"]), l.Obj}, {"outcome", shown(row["outcome"]), l.Out},
			{"details_hash", shown(row["details_hash"]), l.Det}, {"by.id", shown(by["id"]), l.Sub}}); err != nil {
			return "", err
		}
	}
	for seq, name := range places {
		if seq < last && e.doc["receipts_omitted"] == nil {
			return "", fmt.Errorf("receipts: the entry %s of the receipt is not listed", name)
		}
	}
	return "the listed entries, holds and decisions are those of the receipt", e.decided(signed)
}

// decided compares holds and decisions with the entries that they name.
func (e *dossier) decided(signed map[string]leaf.Leaf) error {
	verdicts := map[string]string{"approved": "run.approve", "rejected": "run.reject", "canceled": "run.cancel"}
	for _, list := range []string{"holds", "decisions"} {
		for i, row := range rowsOf(e.doc[list]) {
			at := fmt.Sprintf("%s[%d]", list, i)
			name := shown(row["receipt"])
			if name == "" {
				continue // the trail has no entry of it
			}
			l, ok := signed[name]
			if !ok {
				return fmt.Errorf("%s: the entry %q is not in the receipt", at, name)
			}
			pairs := [][3]string{{"at", instant(row["at"]), l.At}}
			if list == "decisions" {
				by, _ := row["by"].(map[string]any)
				pairs = append(pairs, [3]string{"verdict", cmp.Or(verdicts[shown(row["verdict"])], shown(row["verdict"])), l.Act},
					[3]string{"by.id", shown(by["id"]), l.Sub})
			} else {
				pairs = append(pairs, [3]string{"action", "run.hold", l.Act})
			}
			if err := matching(at, pairs); err != nil {
				return err
			}
		}
	}
	return nil
}

// matching compares members of the document with those of an entry: name, document, entry.
func matching(at string, pairs [][3]string) error {
	for _, p := range pairs {
		if p[1] != p[2] {
			return fmt.Errorf("%s.%s is %q in the document and %q in the receipt", at, p[0], p[1], p[2])
		}
	}
	return nil
}

func rowsOf(v any) []map[string]any {
	list, _ := v.([]any)
	out := make([]map[string]any, len(list))
	for i := range list {
		out[i], _ = list[i].(map[string]any)
	}
	return out
}
