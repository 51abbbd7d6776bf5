package child

import (
	"os"
	"syscall"
)

// enterContainer takes over the standard output and the environment of a container.
func (p *Plan) enterContainer() error {
	if p.Output == 0 {
		return nil
	}
	for fd := 1; fd <= 2; fd++ {
		if err := syscall.Dup3(p.Output+fd-1, fd, 0); err != nil {
			return err
		}
	}
	for _, kv := range os.Environ() {
		name, _ := variable(kv)
		if _, set := p.lookup(name); !set && name != markerName {
			p.Env = append(p.Env, kv)
		}
	}
	return nil
}

// trial reports whether a container is tried without a tool.
func (p *Plan) trial() bool { return p.Output > 0 && p.Path == "" }

// find returns the executable of the tool.
func (p *Plan) find() (string, error) {
	for i := range len(p.Path) {
		if p.Path[i] == '/' {
			return p.Path, nil
		}
	}
	list, _ := p.lookup("PATH")
	for start, i := 0, 0; i <= len(list); i++ {
		if i < len(list) && list[i] != ':' {
			continue
		}
		dir := list[start:i]
		start = i + 1
		if !hasPrefix(dir, "/") { // no file of a checkout is used as an interpreter
			continue
		}
		path := dir + "/" + p.Path
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", syscall.ENOENT
}

// lookup returns a variable of the tool's environment.
func (p *Plan) lookup(name string) (value string, set bool) {
	for _, kv := range p.Env {
		if n, value := variable(kv); n == name {
			return value, true
		}
	}
	return "", false
}

func variable(kv string) (name, value string) {
	for i := range len(kv) {
		if kv[i] == '=' {
			return kv[:i], kv[i+1:]
		}
	}
	return kv, ""
}

func hasPrefix(s, prefix string) bool { return len(s) > len(prefix) && s[:len(prefix)] == prefix }
