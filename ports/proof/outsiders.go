package proof

import (
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/proof/bundle"
	"github.com/writ-automation/writ/ports/proof/checkpoint"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/timestamp"
)

// Outsiders holds the trusted keys of third parties. Their signatures over a head prove when it existed. The zero value
// trusts none.
type Outsiders struct {
	Roots     []*x509.Certificate // of time-stamping authorities
	Witnesses []checkpoint.Witness
}

// ParseOutsiders reads certificates as PEM and verifier keys of witnesses. Either may be empty.
func ParseOutsiders(roots []byte, witnesses []string) (o Outsiders, err error) {
	if len(roots) > 0 {
		if o.Roots, err = timestamp.ParseRoots(roots); err != nil {
			return o, fmt.Errorf("the certificates of time-stamping authorities: %w", err)
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

// Policy returns a C2SP tlog-policy for logs with these verifier keys that demands any one witness. It is empty
// without a witness.
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

// Sighting is the statement of a third party about a head.
type Sighting struct {
	At time.Time // when the head existed
	// Checked is set if the signature of a trusted third party was verified.
	Checked bool
}

// Token verifies a time-stamp response over a note. A token of an authority without a trusted root is not checked. A
// token of another note and an invalid signature are errors.
func (o Outsiders) Token(der []byte, note string) (Sighting, error) {
	t, err := timestamp.Parse(der)
	if err != nil {
		return Sighting{}, err
	}
	if !t.Covers([]byte(note)) {
		return Sighting{}, errors.New("the token covers another note")
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

// Cosigned verifies the lines of the trusted witnesses and returns the earliest. A note without such a line is not
// checked. An invalid line is an error.
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

// outsideTally counts the satisfied anchors of a file with a verified signature of a third party, and those whose
// signature was not checked.
type outsideTally struct{ checked, unchecked int }

// add verifies the token or the cosignature of an anchor and returns the verified time, or zero if nothing was
// checked; add counts those. ok is false if the signature is invalid. A bundle has no tokens.
func (t *outsideTally) add(o Outsiders, kind, note string, token []byte) (at time.Time, ok bool) {
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
		return time.Time{}, true
	}
	switch {
	case err != nil:
		return time.Time{}, false
	case got.Checked:
		return got.At, true
	}
	t.unchecked++
	return time.Time{}, true
}

// conclude reports the counts.
func (t *outsideTally) conclude(r *Report, s Step, v *Verdict) {
	if t.checked > 0 {
		r.Add(s, ", %d of them with a verified time-stamp token or witness cosignature", t.checked)
		v.unremark(timesAsserted)
		v.NotChecked = append(v.NotChecked, timesBetween)
	}
	if t.unchecked > 0 {
		r.Add(s, ", %d of them with a time-stamp token or witness cosignature that was not checked", t.unchecked)
		v.NotChecked = append(v.NotChecked, fmt.Sprintf("%d time-stamp tokens and witness cosignatures: "+
			"no trusted certificate or key was given for them, or they are not in the file", t.unchecked))
	}
}
