package servertargets

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/runs"
)

// Target is a target of the server.
type Target struct {
	Digest string
	Masked runs.Notification // the public form
}

// Targets are the targets of one server. They never change.
type Targets struct {
	list []Target
	by   map[string]notify.Target
}

// New parses the flags and removes duplicates.
func New(list []notify.Target, onFailure bool) *Targets {
	t := &Targets{by: make(map[string]notify.Target, len(list))}
	for _, to := range list {
		d := digest(to)
		if _, twice := t.by[d]; twice {
			continue
		}
		n := runs.Notification{Kind: to.Kind, URL: to.URL.Reveal(), Key: to.Key.Reveal(), To: to.To, OnFailure: onFailure}
		t.by[d] = to
		t.list = append(t.list, Target{Digest: d, Masked: n.Masked()})
	}
	return t
}

// All returns every target, in the order of the flags.
func (t *Targets) All() []Target { return t.list }

// Find returns the target with a digest; ok is false if the flags no longer contain it.
func (t *Targets) Find(digest string) (to notify.Target, ok bool) {
	to, ok = t.by[digest]
	return to, ok
}

// digest is equal for equal targets. It separates the parts unambiguously.
func digest(t notify.Target) string {
	h := sha256.New()
	for _, part := range []string{"server", t.Kind, t.URL.Reveal(), t.Key.Reveal(), t.To} {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		h.Write(n[:])
		h.Write([]byte(part))
	}
	return hex.EncodeToString(h.Sum(nil))
}
