package audit

import (
	"time"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof"
)

// Config is the configuration by the operator and the build. A zero duration selects the default.
type Config struct {
	// Site is the host name of the public address; the default is "writ". It becomes part of the origin of a new
	// install.
	Site    string
	Version string
	// HeadFile stores the newest head next to the signing key; nil disables it.
	HeadFile audit.HeadFile
	// Keys stores the signing key. If it is nil, every signature is refused.
	Keys Keys
	// Outsiders lists the trusted outsiders; seal.json names them.
	Outsiders proof.Outsiders
	// Beat is the interval of the entries that record that the service is alive.
	Beat time.Duration
}

// Keys stores the contents of signing.key, a secret that this process writes nowhere else.
type Keys interface {
	// Load returns the contents, empty if there are none.
	Load() ([]byte, error)
	// Save replaces the contents durably and atomically. It fails if the contents came from a place that the process
	// cannot write.
	Save(pem []byte) error
}

const defaultSite = "writ"

func (c Config) site() string {
	if c.Site == "" {
		return defaultSite
	}
	return c.Site
}
