package runs

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// Digests recomputes the digest of a run in the trail.
type Digests interface {
	// Digest recomputes a run's digest from the stored data. For an ended run whose events are still stored, its
	// Document equals the one in the trail's entry of the end; otherwise the stored data was altered. Digest reads
	// the whole log and every event, in bounded memory. It returns RunNotFound for an unknown run and for one that
	// the caller may not read.
	Digest(ctx context.Context, id string) (*RunDigest, error)
}

// RunDigest describes a run and its results. Digests have the form "sha256:<hex>", except that of the log. Empty
// members are unknown or do not apply.
type RunDigest struct {
	ID        string
	Kind      Kind
	Tool      string
	Status    Status
	Commit    string
	StartedAt time.Time
	EndedAt   time.Time
	ExitCode  *int
	// Inventory is the digest of the inventory's id, or of its path or text if the run names no stored one.
	Inventory string
	Approvers []string // ids of the accounts that approved it
	Log       *LogDigest
	Events    *EventsDigest // nil if retention deleted them
	// Hosts is the digest of the canonical JSON (RFC 8785) of the run's host table, the member hosts of GET
	// /v1/runs/{id}/hosts: a list of objects of changed, duration_ms, failed, host, ignored, ok, rescued, skipped,
	// unreachable and worst, by name of host. It is empty for a run whose record counts no hosts, and for a parent
	// whose children touched more than MaxParentHosts hosts; the digests of the children cover these tables.
	Hosts string
	// Inputs is the digest of the inputs with secrets redacted. It is not part of the document; the entry of the
	// submission has it.
	Inputs string
}

// MaxParentHosts is the maximum number of hosts of all children that a parent's digest covers.
const MaxParentHosts = 5000

// LogDigest describes the stored output. SHA256 is in hex, over the bytes of a download of the log. Bytes counts all
// printed bytes, and Omitted the dropped ones among them.
type LogDigest struct {
	Bytes   int64
	Omitted int64
	SHA256  string
}

// EventsDigest is the root of the Merkle tree (RFC 6962, SHA-256) over the lines of a run's events in order of their
// numbers.
type EventsDigest struct {
	Count int64
	Root  [32]byte
}

// Line returns an event's canonical line: the bytes that the tree of a run's events has as a leaf, so that the leaf's
// hash is SHA-256(0x00 || line).
//
// Line is the JSON object of Event without white space or a line break: the members in the order of Event's
// declaration, those that are empty left out; in strings the characters <, >, & and U+2028, U+2029 as \u escapes with
// small hex digits; diff, stats, facts and outputs as they were reported, with all digits of numbers. That is byte
// for byte the line of GET /v1/runs/{id}/events?download=1 without its line feed, and the element of events of a
// page. To check a run, download its events, hash each line unchanged and build the tree over the hashes.
//
// The event must come from a store, which has replaced invalid UTF-8.
func (e *Event) Line() ([]byte, error) {
	b, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("make the line of event %d: %w", e.Seq, err)
	}
	return b, nil
}

// digestTime is the format of times in the document.
const digestTime = "2006-01-02T15:04:05.000000Z"

// Document returns the run digest document, which the trail's entry of the run's end contains and receipts show. Its
// values are strings, int64, []any and map[string]any.
func (d *RunDigest) Document() map[string]any {
	doc := map[string]any{"v": int64(1), "id": d.ID, "kind": string(d.Kind), "status": string(d.Status)}
	for k, v := range map[string]string{
		"tool": d.Tool, "commit": d.Commit, "inventory": d.Inventory, "hosts": d.Hosts,
		"started_at": digestTimeOf(d.StartedAt), "ended_at": digestTimeOf(d.EndedAt),
	} {
		if v != "" {
			doc[k] = v
		}
	}
	if d.ExitCode != nil {
		doc["exit_code"] = strconv.Itoa(*d.ExitCode)
	}
	if len(d.Approvers) > 0 {
		list := make([]any, len(d.Approvers))
		for i, a := range d.Approvers {
			list[i] = a
		}
		doc["approvers"] = list
	}
	if l := d.Log; l != nil {
		m := map[string]any{"bytes": l.Bytes}
		if l.SHA256 != "" {
			m["sha256"] = l.SHA256
		}
		if l.Omitted > 0 {
			m["omitted"] = l.Omitted
		}
		doc["log"] = m
	}
	if e := d.Events; e != nil {
		doc["events"] = map[string]any{"count": e.Count, "root": base64.StdEncoding.EncodeToString(e.Root[:])}
	}
	return doc
}

func digestTimeOf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(digestTime)
}
