package git

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/platform/boundary"
	"github.com/writ-automation/writ/platform/program"
	"github.com/writ-automation/writ/ports/catalog"
)

// environ returns the environment of every program: PATH is the only variable from this process, and the first, and
// git's configuration on the machine is ignored.
func (k *Checkouts) environ() []string {
	return []string{
		"PATH=" + k.path, "HOME=" + filepath.Join(k.private(), "home"), "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "GIT_PROTOCOL_FROM_USER=0",
		"GIT_NO_LAZY_FETCH=1",
		"GIT_LITERAL_PATHSPECS=1", "GIT_NO_REPLACE_OBJECTS=1", "GIT_OPTIONAL_LOCKS=0", "GIT_FLUSH=1",
	}
}

// options returns the options of every git command. Harmless defects of old repositories are ignored: if checks refused
// common repositories, operators would disable all checks.
func (k *Checkouts) options() []string {
	set := []string{
		"protocol.ext.allow=never", "core.hooksPath=/dev/null", "core.fsmonitor=false", "core.symlinks=true",
		"core.protectHFS=true",
		"core.protectNTFS=true", "core.autocrlf=false", "core.eol=lf", "core.alternateRefsCommand=", "core.pager=cat",
		"core.askPass=",
		"credential.helper=", "submodule.recurse=false", "fetch.recurseSubmodules=false", "transfer.fsckObjects=true",
		"fetch.fsckObjects=true",
		"fetch.fsck.zeroPaddedFilemode=ignore", "fetch.fsck.badTimezone=ignore", "fetch.fsck.missingSpaceBeforeDate=ignore",
		"fetch.unpackLimit=1", "fetch.parallel=1", "transfer.bundleURI=false", "http.followRedirects=false",
		"http.sslVerify=true",
		"http.proxy=", "http.lowSpeedLimit=100", "http.lowSpeedTime=60", "gc.auto=0", "maintenance.auto=false",
		"index.threads=1",
		"checkout.workers=1", "advice.detachedHead=false", "safe.bareRepository=explicit",
	}
	out := make([]string, 0, 2*len(set))
	for _, s := range set {
		out = append(out, "-c", s)
	}
	return out
}

// session contains the files and settings for one exchange with a server. Secrets are only in files and in the
// environment, never in arguments.
type session struct {
	dir     string
	remote  string // the address that git gets
	env     []string
	secrets []string
	show    []boundary.Path // what the programs see
}

// close removes the files of a session.
func (s *session) close() error { return program.Remove(s.dir) }

// set replaces a variable, or adds it.
func (s *session) set(name, value string) {
	s.env = slices.DeleteFunc(s.env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
	s.env = append(s.env, name+"="+value)
}

// session creates a private directory with the files of the login, and pins the checked addresses. Nothing is pinned
// for programs that also contact other servers.
func (k *Checkouts) session(l catalog.Login, a address, pinned []string, config map[string]string) (*session, error) {
	dir, err := os.MkdirTemp(k.private(), "session-")
	if err != nil {
		return nil, fmt.Errorf("make a private directory: %w", err)
	}
	s := &session{dir: dir, env: k.environ(), show: []boundary.Path{{Name: dir, Write: true}, {Name: k.cfg.CAFile}}}
	s.note(string(l.Password), string(l.Key))
	if k.cfg.CAFile != "" {
		config["http.sslCAInfo"] = k.cfg.CAFile
	}
	switch a.protocol {
	case overHTTPS:
		s.remote = (&url.URL{Scheme: overHTTPS, Host: withoutDefault(a)}).String() + a.path
		k.overHTTPS(s, l, a, pinned, config)
	case overSSH:
		s.remote = sshRemote(a)
		err = k.overSSH(s, l, a, pinned)
	case overGit:
		s.remote = "git://" + a.hostPort() + a.path
		if len(pinned) > 0 {
			s.remote = "git://" + address{host: pinned[0], port: a.port}.hostPort() + a.path
			s.env = append(s.env, "GIT_OVERRIDE_VIRTUAL_HOST="+a.hostPort())
		}
	case overFile:
		s.remote = a.path
		err = k.overFile(s, a)
	}
	s.env = append(s.env, "GIT_ALLOW_PROTOCOL="+a.protocol)
	s.configure(config)
	err = firstOf(err, k.box.Give(dir))
	if err != nil {
		return nil, fmt.Errorf("prepare the login: %w", firstOf(err, s.close()))
	}
	return s, nil
}

func firstOf(err, other error) error {
	if err == nil {
		return other
	}
	return err
}

// overFile lets git read the repository of this process's user, which is not the user of git.
func (k *Checkouts) overFile(s *session, a address) error {
	repository := boundary.Path{Name: a.path}
	if err := k.box.Sees(a.path, repository); err != nil {
		return catalog.SyncFailed.New("%s", err.Error())
	}
	s.show = append(s.show, repository)
	return k.trust(s, a.path)
}

// trust makes git read repositories of this process's user from another account: one, or all that it may read for "*".
func (k *Checkouts) trust(s *session, path string) error {
	if !k.box.Own() {
		return nil
	}
	file := filepath.Join(s.dir, "gitconfig")
	s.set("GIT_CONFIG_GLOBAL", file)
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path)
	return os.WriteFile(file, []byte("[safe]\n\tdirectory = \""+quoted+"\"\n"), 0o600)
}

// configure passes settings in the environment.
func (s *session) configure(config map[string]string) {
	n := 0
	for name, value := range config {
		at := strconv.Itoa(n)
		s.env = append(s.env, "GIT_CONFIG_KEY_"+at+"="+name, "GIT_CONFIG_VALUE_"+at+"="+value)
		n++
	}
	s.env = append(s.env, "GIT_CONFIG_COUNT="+strconv.Itoa(n))
}

// note collects secrets, in all forms in which programs may print them.
func (s *session) note(secrets ...string) {
	for _, secret := range secrets {
		if len(secret) < 3 {
			continue
		}
		s.secrets = append(s.secrets, secret, url.QueryEscape(secret), url.PathEscape(secret),
			url.UserPassword("", secret).String()[1:],
			base64.StdEncoding.EncodeToString([]byte(secret)))
		for line := range strings.Lines(secret) {
			if line = strings.TrimSpace(line); len(line) >= 16 && line != secret {
				s.secrets = append(s.secrets, line)
			}
		}
	}
}

// withoutDefault returns the host with its port, or without the port if it is the default, since servers compare the
// two.
func withoutDefault(a address) string {
	if a.port == "443" {
		return a.bracketed()
	}
	return a.hostPort()
}

// overHTTPS sends the password with the first request, and only to this server. A password without a name is a token;
// servers that support tokens accept any name with one.
func (k *Checkouts) overHTTPS(s *session, l catalog.Login, a address, pinned []string, config map[string]string) {
	if len(pinned) > 0 && !strings.Contains(a.host, ":") {
		list := make([]string, 0, len(pinned))
		for _, p := range pinned {
			list = append(list, address{host: p}.bracketed())
		}
		config["http.curloptResolve"] = a.host + ":" + a.port + ":" + strings.Join(list, ",")
	}
	if l.Password == "" {
		return
	}
	basic := base64.StdEncoding.EncodeToString([]byte(or(or(l.Username, a.user), "git") + ":" + string(l.Password)))
	s.note(basic)
	config["http.https://"+a.hostPort()+"/.extraHeader"] = "Authorization: Basic " + basic
}

func sshRemote(a address) string {
	user := ""
	if a.user != "" {
		user = a.user + "@"
	}
	if a.scp {
		return user + a.bracketed() + ":" + a.path
	}
	return "ssh://" + user + a.hostPort() + a.path
}

// overSSH writes the configuration of ssh: only this server at the checked address, only this key, and no prompts.
func (k *Checkouts) overSSH(s *session, l catalog.Login, a address, pinned []string) error {
	lines := []string{
		"BatchMode yes", "StrictHostKeyChecking accept-new", "UserKnownHostsFile \"" + s.knownHosts() + "\"",
		"GlobalKnownHostsFile /dev/null",
		"UpdateHostKeys no", "CheckHostIP no", "HashKnownHosts no", "IdentitiesOnly yes", "IdentityAgent none",
		"ControlMaster no", "ControlPath none",
		"ProxyCommand none", "PermitLocalCommand no", "ForwardAgent no", "ForwardX11 no", "ClearAllForwardings yes",
		"RequestTTY no",
		"CanonicalizeHostname no", "PreferredAuthentications publickey", "PasswordAuthentication no",
		"KbdInteractiveAuthentication no",
		"ConnectTimeout 20", "ServerAliveInterval 15", "ServerAliveCountMax 4", "LogLevel ERROR",
	}
	if err := k.bringHosts(s); err != nil {
		return err
	}
	if l.Key != "" {
		key := strings.TrimRight(strings.ReplaceAll(string(l.Key), "\r", ""), "\n") + "\n"
		if err := os.WriteFile(filepath.Join(s.dir, "key"), []byte(key), 0o600); err != nil {
			return err
		}
		lines = append(lines, "IdentityFile \""+filepath.Join(s.dir, "key")+"\"")
	} else {
		lines = append(lines, "IdentityFile none")
	}
	if len(pinned) > 0 {
		lines = append(lines, "HostName "+pinned[0], "HostKeyAlias "+a.alias())
	}
	if user := or(l.Username, "git"); a.user == "" && userForm.MatchString(user) {
		lines = append(lines, "User "+user)
	}
	file := filepath.Join(s.dir, "ssh_config")
	s.env = append(s.env, "GIT_SSH_VARIANT=ssh", "GIT_SSH_COMMAND="+quote(k.cfg.SSH)+" -F "+quote(file))
	return os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600)
}

// quote quotes a word for the shell with which git starts ssh.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
