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
	Masked runs.Notification // as it is shown
}

// Targets are those of one server. They never change.
type Targets struct {
	list []Target
	by   map[string]notify.Target
}

// New makes them of the flags. Equal ones hear of a run once.
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

// Find returns the target of a digest; ok is false where the flags do not name it any more.
func (t *Targets) Find(digest string) (to notify.Target, ok bool) {
	to, ok = t.by[digest]
	return to, ok
}

// digest is the same for equal targets. It keeps the parts apart.
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
