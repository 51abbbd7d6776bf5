package inventories

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
)

// checkKnownHosts validates known hosts. ssh skips a line that it cannot read, and the host would be an unknown one: so
// each line must be a key, a comment or blank. An Invalid fault names known_hosts and the line.
func checkKnownHosts(text []byte) error {
	if len(text) > catalog.MaxKnownHosts {
		return fault.BadField("known_hosts", "has %d bytes, at most %d are allowed", len(text), catalog.MaxKnownHosts)
	}
	n := 0
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		n++
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		if err := checkHostKey(line); err != nil {
			return fault.BadField("known_hosts", "line %d: %s", n, err)
		}
	}
	return nil
}

func checkHostKey(line []byte) error {
	if bytes.ContainsAny(line, "\x00\r") {
		return errors.New("holds a control character")
	}
	marker, hosts, key, _, _, err := ssh.ParseKnownHosts(line)
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("expected the names of hosts, the type of a key and the key")
	case err != nil:
		return fmt.Errorf("expected the names of hosts, the type of a key and the key: %w", err)
	case marker != "" && marker != "cert-authority" && marker != "revoked":
		return fmt.Errorf("@%s is no marker; there are @cert-authority and @revoked", marker)
	}
	if _, ok := key.(*ssh.Certificate); ok {
		return errors.New("holds a certificate; a line holds a key, after @cert-authority that of the authority")
	}
	if i := slices.IndexFunc(hosts, func(name string) bool { return !hostName(name) }); i >= 0 {
		return fmt.Errorf("%.64q is no name of a host", hosts[i])
	}
	return nil
}

// hostName reports whether a text is a name or a pattern of hosts, or a hashed name: |1|salt|hash in base64.
func hostName(name string) bool {
	if strings.HasPrefix(name, "|") {
		parts := strings.Split(name, "|")
		return len(parts) == 4 && parts[1] == "1" && sha1Text(parts[2]) && sha1Text(parts[3])
	}
	return strings.TrimPrefix(name, "!") != ""
}

// sha1Text reports whether a text is base64 of as many bytes as SHA-1 has: a salt has the length of a hash.
func sha1Text(text string) bool {
	b, err := base64.StdEncoding.DecodeString(text)
	return err == nil && len(b) == 20
}
