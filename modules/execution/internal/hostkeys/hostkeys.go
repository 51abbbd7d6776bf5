// Package hostkeys reads which keys of hosts a run accepted. Boundary: it knows the format of known_hosts and no files.
package hostkeys

import (
	"bytes"

	"golang.org/x/crypto/ssh"

	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/runs"
)

// The texts of a key: names without what could be taken for markup or a control character.
var (
	hostName    = lazyregexp.New(`^[\x21-\x7e]{1,300}$`)
	keyType     = lazyregexp.New(`^[0-9a-z@.-]{1,64}$`)
	fingerprint = lazyregexp.New(`^SHA256:[0-9A-Za-z+/]{43}$`)
)

// Valid reports whether a key has the form of one that Accepted returns.
func Valid(k *runs.HostKey) bool {
	return hostName.MatchString(k.Host) && keyType.MatchString(k.Type) && fingerprint.MatchString(k.Fingerprint)
}

// Accepted returns the keys in known hosts that they did not have before, each once, at most runs.MaxHostKeys, and how
// many more there are. Lines that ssh would skip, and those with a marker, are no accepted keys.
func Accepted(before, after []byte) (keys []runs.HostKey, omitted int) {
	known, seen := map[string]bool{}, map[runs.HostKey]bool{}
	for line := range bytes.Lines(before) {
		known[string(bytes.TrimSpace(line))] = true
	}
	for line := range bytes.Lines(after) {
		if line = bytes.TrimSpace(line); known[string(line)] {
			continue
		}
		known[string(line)] = true
		marker, hosts, key, _, _, err := ssh.ParseKnownHosts(line)
		if err != nil || marker != "" {
			continue
		}
		for _, host := range hosts {
			k := runs.HostKey{Host: host, Type: key.Type(), Fingerprint: ssh.FingerprintSHA256(key)}
			if seen[k] || !Valid(&k) {
				continue
			}
			if seen[k] = true; len(keys) < runs.MaxHostKeys {
				keys = append(keys, k)
			} else {
				omitted++
			}
		}
	}
	return keys, omitted
}
