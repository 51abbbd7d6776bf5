package proof

import (
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/proof/bundle"
	"github.com/writ-automation/writ/ports/proof/checkpoint"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/timestamp"
)

// Outsiders is whom a reader believes outside of the install: what they say of a head says when it was there. The
// zero value believes nobody.
type Outsiders struct {
	Roots     []*x509.Certificate // of time-stamping authorities
	Witnesses []checkpoint.Witness
}

// ParseOutsiders reads certificates as PEM and verifier keys of witnesses. Either may be empty.
func ParseOutsiders(roots []byte, witnesses []string) (o Outsiders, err error) {
	if len(roots) > 0 {
		if o.Roots, err = timestamp.ParseRoots(roots); err != nil {
			return o, fmt.Errorf("the roots of time-stamping authorities: %w", err)
		}
	}
	for _, vkey := range witnesses {
		w, err := checkpoint.ParseWitness(vkey)
		if err != nil {
			return o, fmt.Errorf("the key of a witness: %w", err)
		}
		o.Witnesses = append(o.Witnesses, w)
	}
	return o, nil
}

// Policy returns a C2SP tlog-policy over logs with these verifier keys, of which one of the witnesses is enough;
// empty without one.
func (o Outsiders) Policy(logs ...string) string {
	if len(o.Witnesses) == 0 {
		return ""
	}
	var text, group strings.Builder
	for _, vkey := range logs {
		fmt.Fprintf(&text, "log %s\n", vkey)
	}
	for i, w := range o.Witnesses {
		fmt.Fprintf(&text, "witness w%d %s\n", i+1, w.VKey)
		fmt.Fprintf(&group, " w%d", i+1)
	}
	return text.String() + "group witnesses any" + group.String() + "\nquorum witnesses\n"
}

// TSAs returns the certificates of time-stamping authorities as seal.json names them.
func (o Outsiders) TSAs() (out []keys.TSA) {
	for _, c := range o.Roots {
		out = append(out, keys.TSA{Name: c.Subject.String(), Cert: sha256.Sum256(c.Raw)})
	}
	return out
}

// Sighting is what somebody outside says of a head.
type Sighting struct {
	At time.Time // when it was there
	// Checked says that a signature by somebody who is believed was verified. Without it nobody is known to have said it.
	Checked bool
}

// Token holds a time-stamp response to the note that it has to be of. A token that leads to none of the roots is not
// checked; an error says that it is no token of the note, or not as its authority signed it.
func (o Outsiders) Token(der []byte, note string) (Sighting, error) {
	t, err := timestamp.Parse(der)
	if err != nil {
		return Sighting{}, err
	}
	if !t.Covers([]byte(note)) {
		return Sighting{}, errors.New("the token is of another note")
	}
	if len(o.Roots) == 0 {
		return Sighting{At: t.Time}, nil
	}
	switch err := t.Verify(o.Roots); {
	case errors.Is(err, timestamp.ErrUnknownAuthority):
		return Sighting{At: t.Time}, nil
	case err != nil:
		return Sighting{}, err
	}
	return Sighting{At: t.Time, Checked: true}, nil
}

// Cosigned looks for the line of a witness that is believed. A note without one is not checked; an error says that
// the line of such a witness does not verify.
func (o Outsiders) Cosigned(n checkpoint.Note) (out Sighting, err error) {
	for _, w := range o.Witnesses {
		at, ok, err := w.Cosigned(n)
		if err != nil {
			return Sighting{}, err
		}
		if ok && (!out.Checked || at.Before(out.At)) {
			out = Sighting{At: at, Checked: true}
		}
	}
	return out, nil
}

// outsideTally is how a file's anchors were held to those outside whom the reader believes.
type outsideTally struct{ checked, unchecked int }

// add counts an anchor, and reports whether what is said of it holds. A bundle has no tokens.
func (t *outsideTally) add(o Outsiders, kind, note string, token []byte) bool {
	var got Sighting
	var err error
	switch {
	case kind == bundle.KindTimestamp && len(token) > 0:
		got, err = o.Token(token, note)
	case kind == bundle.KindTimestamp:
	case kind == bundle.KindWitness:
		var n checkpoint.Note
		if n, err = checkpoint.Parse([]byte(note)); err == nil {
			got, err = o.Cosigned(n)
		}
	default:
		return true
	}
	switch {
	case err != nil:
	case got.Checked:
		t.checked++
	default:
		t.unchecked++
	}
	return err == nil
}

// conclude says what of it was not checked.
func (t *outsideTally) conclude(r *Report, s Step, v *Verdict) {
	if t.checked > 0 {
		r.Add(s, ", %d of them by the word of somebody outside who is believed", t.checked)
		v.NotChecked = slices.DeleteFunc(v.NotChecked, func(s string) bool { return s == timesOfFile || s == timesOfReceipt })
		v.NotChecked = append(v.NotChecked, "the times of entries: between the heads that somebody outside saw they are the server's own word")
	}
	if t.unchecked > 0 {
		r.Add(s, ", without the word of somebody outside on %d of them, which was not checked", t.unchecked)
		v.NotChecked = append(v.NotChecked, fmt.Sprintf("%d time-stamp tokens and cosignatures: "+
			"no certificate or key was given that they lead to, or they are not in the file", t.unchecked))
	}
}
