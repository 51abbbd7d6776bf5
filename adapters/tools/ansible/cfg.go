package ansible

import (
	"io"
	"os"
	"path/filepath"
	"strings"
)

// cfgLimit bounds how much of an ansible.cfg is read.
const cfgLimit = 256 << 10

// cfg is an ansible.cfg: values by section and key, and the file's directory, to which paths are relative.
type cfg struct {
	dir    string
	values map[[2]string]string
}

func (c cfg) get(section, key string) (string, bool) {
	v, ok := c.values[[2]string{section, key}]
	return v, ok
}

// findCfg reads the configuration file that Ansible will use, in Ansible's order. It skips a file in a world-writable
// directory, as Ansible does.
func findCfg(env map[string]string, workDir string) cfg {
	if path := env["ANSIBLE_CONFIG"]; path != "" {
		if !filepath.IsAbs(path) {
			path = filepath.Join(workDir, path)
		}
		if fi, err := os.Stat(path); err == nil && fi.IsDir() {
			path = filepath.Join(path, "ansible.cfg")
		}
		if c, ok := readCfg(path); ok {
			return c
		}
	}
	if fi, err := os.Stat(workDir); err == nil && fi.Mode().Perm()&0o002 == 0 {
		if c, ok := readCfg(filepath.Join(workDir, "ansible.cfg")); ok {
			return c
		}
	}
	if home := env["HOME"]; home != "" {
		if c, ok := readCfg(filepath.Join(home, ".ansible.cfg")); ok {
			return c
		}
	}
	c, _ := readCfg("/etc/ansible/ansible.cfg")
	return c
}

func readCfg(path string) (cfg, bool) {
	f, err := os.Open(path)
	if err != nil {
		return cfg{}, false
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, cfgLimit))
	if err != nil {
		return cfg{}, false
	}
	return cfg{dir: filepath.Dir(path), values: parseINI(string(b))}, true
}

// parseINI reads the dialect of Python's configparser as Ansible configures it: keys in any case, = or : between key
// and value, ; after a blank begins a comment, an indented line continues the value above.
func parseINI(text string) map[[2]string]string {
	out := map[[2]string]string{}
	section, last := "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || trimmed[0] == '#' || trimmed[0] == ';' {
			continue
		}
		for _, mark := range []string{" ;", "\t;"} {
			if i := strings.Index(trimmed, mark); i >= 0 {
				trimmed = strings.TrimSpace(trimmed[:i])
			}
		}
		if indented := line[0] == ' ' || line[0] == '\t'; indented && last != "" {
			out[[2]string{section, last}] += "\n" + trimmed
			continue
		}
		if end := strings.IndexByte(trimmed, ']'); trimmed[0] == '[' && end > 0 {
			section, last = trimmed[1:end], ""
			continue
		}
		key, value := trimmed, ""
		if i := strings.IndexAny(trimmed, "=:"); i >= 0 {
			key, value = strings.TrimSpace(trimmed[:i]), strings.TrimSpace(trimmed[i+1:])
		}
		last = strings.ToLower(key)
		out[[2]string{section, last}] = value
	}
	return out
}
