package fleet

import (
	"os"
	"strings"
)

func (f *Fleet) writeKnownHosts() error {
	var b strings.Builder
	for _, h := range f.hosts {
		line, err := os.ReadFile(h.server.KnownHosts())
		if err != nil {
			return err
		}
		b.Write(line)
	}
	return os.WriteFile(f.KnownHostsPath(), []byte(b.String()), 0o600)
}
