package git

import (
	"cmp"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/writ-automation/writ/platform/egress"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/lazyregexp"
)

// maxURL is the maximum length of an address in bytes.
const maxURL = 2048

// The protocols, as git names them.
const (
	overHTTPS = "https"
	overSSH   = "ssh"
	overGit   = "git"
	overFile  = "file"
)

// address is the address of a repository.
type address struct {
	protocol string
	user     string
	host     string // in lower case, an IPv6 address without brackets
	port     string
	path     string // as passed to git: escaped for https, cleaned for file
	scp      bool   // ssh in the form user@host:path
}

var (
	hostForm = lazyregexp.New(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)
	userForm = lazyregexp.New(`^[A-Za-z0-9_.~][A-Za-z0-9_.~+%-]{0,127}$`)
	scpForm  = lazyregexp.New(`^([^@:/]+)@([^@:/\[\]]+|\[[0-9A-Fa-f:.]+\]):([^:].*)$`)
)

func badURL(format string, args ...any) error { return fault.BadField("repo_url", format, args...) }

// parse parses an address. Its Invalid faults name repo_url.
func parse(text, localRoot string) (address, error) {
	switch {
	case text == "":
		return address{}, badURL("is missing")
	case len(text) > maxURL:
		return address{}, badURL("at most %d bytes", maxURL)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return address{}, badURL("must be text on one line")
	case strings.TrimSpace(text) != text:
		return address{}, badURL("must not begin or end with a space")
	case strings.HasPrefix(text, "-"):
		return address{}, badURL("must not begin with -")
	case strings.HasPrefix(text, "/"):
		return parseFile(text, localRoot)
	case strings.Contains(text, "://"):
		return parseURL(text, localRoot)
	}
	m := scpForm.FindStringSubmatch(text)
	if m == nil {
		return address{}, badURL("must be an address with https://, ssh://, git:// or file://, or user@host:path")
	}
	host := strings.Trim(m[2], "[]")
	return address{protocol: overSSH, user: m[1], host: strings.ToLower(host), port: "22", path: m[3],
		scp: true}.checked(m[2])
}

func parseURL(text, localRoot string) (address, error) {
	u, err := url.Parse(text)
	if err != nil {
		return address{}, badURL("is not an address") // the parser's error would repeat the address
	}
	if u.Scheme == overFile {
		if u.Host != "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return address{}, badURL("a file address has the form file:///path")
		}
		return parseFile(u.Path, localRoot)
	}
	a := address{protocol: u.Scheme, host: strings.ToLower(u.Hostname()), port: u.Port(), path: u.EscapedPath()}
	ports := map[string]string{overHTTPS: "443", overSSH: "22", overGit: "9418"}
	if ports[u.Scheme] == "" {
		return address{}, badURL("the schemes are https, ssh, git and file")
	}
	a.port = cmp.Or(a.port, ports[u.Scheme])
	if u.Opaque != "" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return address{}, badURL("must have no query and no fragment")
	}
	if u.User != nil {
		if _, has := u.User.Password(); has {
			return address{}, badURL("must hold no password: use a credential")
		}
		if u.Scheme == overGit {
			return address{}, badURL("an address with git:// has no user")
		}
		if a.user = u.User.Username(); a.user == "" {
			return address{}, badURL("the user is empty")
		}
	}
	return a.checked(strings.TrimSuffix(u.Host, ":"+u.Port()))
}

// checked validates the parts of an address that has a host; written is the host as in the input, with brackets.
func (a address) checked(written string) (address, error) {
	if a.user != "" && !userForm.MatchString(a.user) {
		return address{}, badURL("the user has characters that a user name must not have")
	}
	if n, err := strconv.ParseUint(a.port, 10, 16); err != nil || n == 0 {
		return address{}, badURL("the port must be a number from 1 to 65535")
	}
	if strings.HasPrefix(written, "[") {
		if ip, err := netip.ParseAddr(a.host); err != nil || !ip.Is6() || ip.Zone() != "" {
			return address{}, badURL("the host is not an address")
		}
	} else if !hostForm.MatchString(a.host) || len(a.host) > 253 {
		return address{}, badURL("the host is neither a name in ASCII nor an address")
	}
	if err := egress.CheckURL(&url.URL{Scheme: "https", Host: net.JoinHostPort(a.host, a.port)}); err != nil {
		return address{}, badURL("the host is neither a name nor an address")
	}
	if strings.Trim(a.path, "/") == "" {
		return address{}, badURL("names no repository")
	}
	if strings.HasPrefix(strings.TrimLeft(a.path, "/"), "-") {
		return address{}, badURL("the path must not begin with -")
	}
	return a, nil
}

// parseFile validates the text of a path and, as far as the path exists, the target of its links.
func parseFile(path, localRoot string) (address, error) {
	clean := filepath.Clean(path)
	switch {
	case localRoot == "":
		return address{}, badURL("this server takes no projects from its own file system")
	case strings.ContainsFunc(path, unicode.IsControl) || !filepath.IsAbs(path):
		return address{}, badURL("must be an absolute path")
	case !below(localRoot, clean):
		return address{}, badURL("leads out of the folder for local projects")
	}
	if root, err := filepath.EvalSymlinks(localRoot); err == nil {
		if real := resolved(clean); real != root && !below(root, real) {
			return address{}, badURL("leads out of the folder for local projects")
		}
	}
	return address{protocol: overFile, path: clean}, nil
}

// resolved follows the links of a path as far as it exists.
func resolved(path string) string {
	for dir, rest := path, ""; ; {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		if dir == "/" {
			return path
		}
		dir, rest = filepath.Dir(dir), filepath.Join(filepath.Base(dir), rest)
	}
}

// below reports whether a cleaned path is inside dir and not dir itself.
func below(dir, path string) bool {
	dir = filepath.Clean(dir)
	return path != dir && strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// hostPort returns host and port in the form of URLs.
func (a address) hostPort() string { return net.JoinHostPort(a.host, a.port) }

// bracketed returns the host in the form of URLs.
func (a address) bracketed() string {
	if strings.Contains(a.host, ":") {
		return "[" + a.host + "]"
	}
	return a.host
}
