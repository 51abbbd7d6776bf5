package audit

import (
	"time"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof"
)

// Config is what an operator and the build say. Zero times are the defaults.
type Config struct {
	// Site is the host name of the public address; empty is "writ". It goes into the origin of an install that has none
	// yet.
	Site    string
	Version string
	// HeadFile keeps the newest head beside the signing key; nil keeps none.
	HeadFile audit.HeadFile
	// Keys is where the signing key rests; nil is nowhere, and what has to be signed is then refused.
	Keys Keys
	// Outsiders is who outside of the install is believed; seal.json names them.
	Outsiders proof.Outsiders
	// Beat is how often the trail says that the service lives.
	Beat time.Duration
}

// Keys is where the contents of signing.key rest, a secret that leaves this process nowhere else.
type Keys interface {
	// Load returns the contents, nothing where there is none.
	Load() ([]byte, error)
	// Save replaces the contents, durably and whole or not at all. It is an error where they come from somewhere that a
	// process cannot write.
	Save(pem []byte) error
}

const defaultSite = "writ"

func (c Config) site() string {
	if c.Site == "" {
		return defaultSite
	}
	return c.Site
}
