package record

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/proof/disclosure"
	"github.com/writ-automation/writ/ports/proof/leaf"
)

// draft is an entry without a place in the chain.
type draft struct {
	leaf        leaf.Leaf // without At, Prev and Seq
	disclosures []string
	detail      string
	final       *audit.Entry // the end of a run, whose document is not complete yet
	collector   *audit.ReceiptCollector
}

func (r *Recorder) draft(ctx context.Context, e *audit.Entry) (*draft, error) {
	req := actor.RequestOf(ctx)
	who := actor.From(ctx)
	if e.By != nil {
		who = *e.By
	}
	sub, name := subject(who)
	d := &draft{collector: audit.CollectorOf(ctx), leaf: leaf.Leaf{
		Act: string(e.Action), ID: r.ids.New(ids.Audit), Met: method(req.Method), Obj: object(e.Object),
		Out: string(e.Outcome), Req: requestID(req.ID), Run: e.Run, Sub: sub,
	}}
	d.leaf.Out = cmp.Or(d.leaf.Out, leaf.Applied)
	err := d.disclose([...]private{
		{disclosure.SubName, name}, {disclosure.NetAddr, who.IP}, {disclosure.NetAgent, req.Agent},
		{disclosure.ObjName, e.Object.Name}, {disclosure.Path, req.Path}, {disclosure.Text, e.Text},
	})
	if err != nil {
		return nil, err
	}
	switch {
	case e.Final:
		// The document is checked now and encoded when the run's entries are known.
		if _, err := finalDetail(e.Detail, 0, digest{}); err != nil {
			return nil, err
		}
		kept := *e // so that only this entry outlives the call
		d.final = &kept
	case len(e.Detail) > 0:
		if d.detail, err = saltedDetail(e.Detail); err != nil {
			return nil, err
		}
		d.leaf.Det = detailHash(d.detail)
	}
	return d, nil
}

type private struct {
	name  disclosure.Name
	value string
}

// disclose makes a disclosure of each non-empty value.
func (d *draft) disclose(values [6]private) error {
	// All of them share two buffers.
	var space [1024]byte
	var sumSpace [len(values) * disclosure.DigestSize]byte
	var ends [len(values)]int
	text, sums, n := space[:0], sumSpace[:0], 0
	for _, v := range values {
		if v.value == "" {
			continue
		}
		made, err := disclosure.New(v.name, disclosure.Fit(v.value))
		if err != nil {
			return audit.Unrecorded.New("an entry has no salt").Because(err)
		}
		from := len(text)
		if text, err = made.AppendTo(text); err != nil {
			return wrong("a private value cannot be written: %v", err)
		}
		sums = disclosure.AppendDigest(sums, text[from:])
		ends[n], n = len(text), n+1
	}
	if n == 0 {
		return nil
	}
	list := make([]string, 2*n)
	d.disclosures, d.leaf.SD = list[:n:n], list[n:]
	texts, from := string(text), 0
	for i, digests := 0, string(sums); i < n; i++ {
		d.disclosures[i], from = texts[from:ends[i]], ends[i]
		d.leaf.SD[i] = digests[i*disclosure.DigestSize : (i+1)*disclosure.DigestSize]
	}
	slices.Sort(d.leaf.SD)
	return nil
}

// The subjects that are not ids.
const (
	subWorker = "worker" // a worker whose id has another form; the id is disclosed as the name
	subSystem = "system"
	subCLI    = "cli" // a command on the server
	cliPrefix = "cli:"
)

// subject returns the leaf's subject for an actor, empty for none, and the disclosed name.
func subject(a actor.Actor) (sub, name string) {
	switch a.Type {
	case actor.Worker:
		if !ids.Valid(ids.Worker, a.ID) {
			return subWorker, a.ID
		}
	case actor.System:
		switch {
		case strings.HasPrefix(a.Name, cliPrefix):
			return subCLI, a.Name
		case a.Name == subSystem:
			return subSystem, ""
		}
		return subSystem, a.Name
	case actor.User, actor.Hook:
	default:
		return "", a.Name
	}
	return short(a.ID), a.Name
}

// typeOf returns the type of the actor for a leaf's subject.
func typeOf(sub string) actor.Type {
	switch {
	case sub == "":
		return actor.Anonymous
	case sub == subSystem, sub == subCLI:
		return actor.System
	case sub == subWorker, strings.HasPrefix(sub, string(ids.Worker)):
		return actor.Worker
	case strings.HasPrefix(sub, string(ids.Trigger)):
		return actor.Hook
	}
	return actor.User
}

func object(o audit.Object) string {
	if o.Kind == "" {
		return ""
	}
	return o.Kind + "/" + o.ID
}

// method returns a request's method, empty if a leaf cannot hold it.
func method(m string) string {
	for i := range len(m) {
		if m[i] < 'A' || m[i] > 'Z' {
			return ""
		}
	}
	if len(m) > 16 {
		return ""
	}
	return m
}

// maxRequest bounds the request id in a leaf.
const maxRequest = 64

// requestID returns the id of a request, or "" if it is more than an id: callers choose it, and a leaf cannot be
// erased.
func requestID(s string) string {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == '-':
		default:
			return ""
		}
	}
	if len(s) > maxRequest {
		return ""
	}
	return s
}

// short cuts an outside id to the length that a leaf holds.
func short(s string) string {
	if len(s) > maxID {
		s = s[:maxID]
	}
	return mended(s)
}

// mended replaces invalid UTF-8 and U+0000 by U+FFFD.
func mended(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
}
