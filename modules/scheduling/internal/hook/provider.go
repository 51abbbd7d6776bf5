package hook

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/scheduling"
)

// provider holds the header names of a forge.
type provider struct{ name, event, delivery string }

// providers lists the known forges. A forge that also sends the headers of another one comes before it.
func providers() []provider {
	return []provider{
		{"forgejo", "X-Forgejo-Event", "X-Forgejo-Delivery"},
		{"gitea", "X-Gitea-Event", "X-Gitea-Delivery"},
		{"gitlab", "X-Gitlab-Event", "X-Gitlab-Event-UUID"},
		{"github", "X-GitHub-Event", "X-GitHub-Delivery"},
	}
}

// maxEvent is the largest length of an event's name, in bytes.
const maxEvent = 64

// recognise returns the forge of a delivery and the event, in lower case with underscores. An Invalid fault names the
// header.
func recognise(d *scheduling.Delivery) (f provider, event string, err error) {
	for _, f := range providers() {
		raw := d.Header.Get(f.event)
		if raw == "" {
			continue
		}
		if len(raw) > maxEvent {
			return f, "", fault.BadField(f.event, "is no event")
		}
		if f.name == "gitlab" && d.Header.Get("X-GitHub-Event") != "" {
			return f, "", fault.BadField(f.event, "more than one forge is named")
		}
		event = strings.ReplaceAll(strings.ToLower(strings.TrimSuffix(raw, " Hook")), " ", "_")
		return f, event, nil
	}
	return provider{}, "", fault.BadField("X-GitHub-Event", "the header with the event of a known forge is missing")
}

// system is the event of a GitLab system hook, whose body contains the event.
const system = "system"

// keys returns what identifies a delivery: the digest of the forge's id, and that of an authenticated body. Another
// body is its own id if the forge sends none.
func (f provider) keys(d *scheduling.Delivery, authenticated bool) (k scheduling.DeliveryKeys) {
	id, body := d.Header.Get(f.delivery), digest(d.Body)
	switch {
	case authenticated:
		k.Body = body
	case id == "":
		id = body
	}
	if id != "" {
		k.ID = digest([]byte(f.name + "\n" + id))
	}
	return k
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
