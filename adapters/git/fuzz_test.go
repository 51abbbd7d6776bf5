package git

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/writ-automation/writ/ports/fault"
)

// FuzzAddress parses addresses of repositories. No part of an accepted one can be taken for an option or a second
// argument, and a path of this machine is below the directory for local projects.
func FuzzAddress(f *testing.F) {
	for _, text := range []string{
		"https://example.com/a.git", "ssh://git@example.com:2222/a", "git://[::1]/a", "git@example.com:a/b.git",
		"git@[::1]:a", "/srv/git/a", "/srv/git/../a", "file:///srv/git/a", "file://host/srv/git/a", "--upload-pack=x",
		"ssh://-oProxyCommand=x/a", "git@-oProxyCommand=x:a", "https://u:p@example.com/a", "ext::sh -c x",
		"https://example.com/-a", "https://example.com/a?b#c", "ssh://a@b:0/c", "https://example.com/a\nb", "https://\xff/a",
		"https://0x7f000001/a", "a@b:/-x", "https://%2d/a",
	} {
		f.Add(text)
	}
	const root = "/srv/git"
	f.Fuzz(func(t *testing.T, text string) {
		a, err := parse(text, root)
		if err != nil {
			if e := (*fault.Error)(nil); !errors.As(err, &e) || e.Kind != fault.Invalid || len(e.Fields) != 1 ||
				e.Fields[0].Location != "repo_url" {
				t.Errorf("%q: the refusal names no field: %v", text, err)
			}
			return
		}
		for what, part := range map[string]string{"user": a.user, "host": a.host, "port": a.port,
			"path": strings.TrimLeft(a.path, "/")} {
			if strings.HasPrefix(part, "-") || strings.ContainsFunc(part, unicode.IsControl) {
				t.Errorf("%q: the %s is %q", text, what, part)
			}
		}
		switch a.protocol {
		case overFile:
			if !below(root, a.path) || a.path != filepath.Clean(a.path) {
				t.Errorf("%q: the path is %q", text, a.path)
			}
		case overHTTPS, overSSH, overGit:
			if a.host == "" || strings.ContainsAny(a.host, " /@?#") {
				t.Errorf("%q: the host is %q", text, a.host)
			}
		default:
			t.Errorf("%q: the protocol is %q", text, a.protocol)
		}
	})
}
