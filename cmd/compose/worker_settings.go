package compose

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/secret"
)

// WorkerSettings are all settings of a worker. It reaches the runs in the database, or over the relay of a server:
// either DB or Server is set, and the settings of the other one are empty.
type WorkerSettings struct {
	Executor
	Install
	Relay

	Labels map[string]string // shown in the list of workers
	// SigningKeyFile has the keys that sign the audit trail: only heads signed by them are then accepted. Empty: the
	// keys that the database lists.
	SigningKeyFile string
}

// Relay is the server over which a worker reaches the runs.
type Relay struct {
	Server       string // its address
	Token        secret.Text
	CAFile       string // PEM; empty: the certificates that the machine trusts
	InsecureHTTP bool   // secrets may travel in the clear
}

// bound reports whether the token is good for one worker and not shared.
func (r *Relay) bound() bool { return strings.HasPrefix(r.Token.Reveal(), execution.WorkerTokenPrefix) }

// over reports whether the worker reaches the runs over a relay.
func (r *Relay) over() bool { return r.Server != "" }

// Validate returns an error that names the first invalid flag.
func (s *WorkerSettings) Validate() error {
	switch {
	case s.DB == "" && !s.over():
		return errors.New("db, server: one of the two is required: the database of the install, or the address of a server")
	case s.DB != "" && s.over():
		return errors.New("db, server: set only one of the two; WRIT_DB and WRIT_SERVER count as well")
	case s.Executors == 0:
		return errors.New("executors: expected 1 or more for a worker")
	}
	if err := errors.Join(s.Executor.validate(), s.validatePeer()); err != nil {
		return err
	}
	switch {
	case s.over() && s.SigningKeyFile != "":
		return errors.New("signing-key-file: needs db; over the relay the server has the keys")
	case s.over() && s.bound() && s.Name == "":
		return errors.New("name: is required with the token of one worker: the name that the token was made for")
	}
	if s.over() {
		return errors.Join(s.Install.unused(), s.Relay.validate())
	}
	return errors.Join(s.Install.validate(), s.Relay.unused())
}

// maxPeerLabels and maxPeerLabel are the server's limits for the number of labels of a worker, and for the length of a
// value.
const (
	maxPeerLabels = 64
	maxPeerLabel  = 255
)

// validatePeer validates the name and the labels of the worker, like the server.
func (s *WorkerSettings) validatePeer() error {
	name, label := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`),
		regexp.MustCompile(`^[a-z0-9][a-z0-9._/-]{0,62}$`)
	switch {
	case s.Name != "" && !name.MatchString(s.Name):
		return errors.New("name: expected up to 100 letters, digits, dots, _ and -, the first a letter or a digit")
	case slices.Contains(s.Queues, ""):
		return errors.New("queue: expected the name of a queue, not an empty text")
	case len(s.Labels) > maxPeerLabels:
		return fmt.Errorf("labels: expected at most %d", maxPeerLabels)
	}
	for key, value := range s.Labels {
		if !label.MatchString(key) {
			return fmt.Errorf("labels: %.64q is not the key of a label", key)
		}
		if utf8.RuneCountInString(value) > maxPeerLabel || !utf8.ValidString(value) || strings.Contains(value, "\x00") {
			return fmt.Errorf("labels: expected a text of at most %d characters for %q", maxPeerLabel, key)
		}
	}
	return nil
}

// unused returns an error that names a flag without effect over a relay: there the server has the keys and fetches
// everything.
func (i *Install) unused() error {
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"encryption-key-file", i.EncryptionKeyFile != ""}, {"local-projects", i.LocalProjects != ""},
		{"allow-private-egress", len(i.AllowPrivate) > 0}, {"secret-env", i.Secrets.Env != ""},
		{"secret-files", i.Secrets.Files != ""}, {"source-queue", i.SourceQueue != ""},
	} {
		if f.set {
			return fmt.Errorf("%s: needs db; over the relay the server does this", f.name)
		}
	}
	return nil
}

// unused returns an error that names a flag without effect without a relay. The token may still be in the environment
// of a machine.
func (r *Relay) unused() error {
	switch {
	case r.CAFile != "":
		return errors.New("ca-file: has no effect without server")
	case r.InsecureHTTP:
		return errors.New("insecure-http: has no effect without server")
	}
	return nil
}

// validate returns an error that names the flag and contains no part of the token.
func (r *Relay) validate() error {
	u, err := webAddress("server", r.Server)
	switch {
	case err != nil:
		return err
	case r.clear(u) && !r.InsecureHTTP:
		return errors.New(
			"server: http exposes the secrets of runs on the network: use https, or set --insecure-http")
	case r.Token == "":
		return errors.New("worker-token: is required with server; prefer the environment variable WRIT_WORKER_TOKEN")
	}
	return workerToken(r.Token)
}

// clear reports whether the connection is unencrypted.
func (r *Relay) clear(u *url.URL) bool { return u.Scheme != "https" && !loopback(u.Hostname()) }

// dataDir returns the absolute path of a worker's data directory: the configured one, else a hidden one next to an
// SQLite database, else one in the working directory. It is never that of a server.
func (s *WorkerSettings) dataDir() (string, error) {
	const suffix = "-worker"
	switch {
	case s.DataDir != "":
		return absolute(s.DataDir)
	case s.over():
		return absolute(".writ" + suffix)
	default:
		return absolute(s.beside(suffix))
	}
}
