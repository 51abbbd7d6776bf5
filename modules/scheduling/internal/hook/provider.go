package hook

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/scheduling"
)

// provider is how a forge names events and deliveries.
type provider struct{ name, event, delivery string }

// providers lists those that are known. The ones that send the headers of another one too stand before it.
func providers() []provider {
	return []provider{
		{"forgejo", "X-Forgejo-Event", "X-Forgejo-Delivery"},
		{"gitea", "X-Gitea-Event", "X-Gitea-Delivery"},
		{"gitlab", "X-Gitlab-Event", "X-Gitlab-Event-UUID"},
		{"github", "X-GitHub-Event", "X-GitHub-Delivery"},
	}
}

// maxEvent is how long the name of an event may be, in bytes.
const maxEvent = 64

// recognise returns the forge that sent a delivery and the event, in lower case with underscores. An Invalid fault
// names the header.
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

// system is the event of a hook of a whole GitLab, whose body says what happened.
const system = "system"

// id names a delivery, whatever the forge calls it: the digest of its own name, else of the body.
func (f provider) id(d *scheduling.Delivery) string {
	sum := sha256.Sum256(d.Body)
	if raw := d.Header.Get(f.delivery); raw != "" {
		sum = sha256.Sum256([]byte(f.name + "\n" + raw))
	}
	return hex.EncodeToString(sum[:])
}
