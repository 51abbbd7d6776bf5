package query

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/modules/estate/internal/facts"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/reserved"
	"github.com/writ-automation/writ/ports/runs"
)

const (
	gigabyte = 1 << 30
	mounts   = "ansible_mounts"
)

// aliases are the short names of facts, which the guide lists. Those of mounts are computed.
func aliases() map[string]string {
	return map[string]string{
		"os.family": "ansible_os_family", "os.name": "ansible_distribution", "os.version": "ansible_distribution_version",
		"os.major": "ansible_distribution_major_version", "kernel": "ansible_kernel", "arch": "ansible_architecture",
		"memory.total_mb": "ansible_memtotal_mb", "cpu.count": "ansible_processor_vcpus",
		"ip": "ansible_default_ipv4.address",
	}
}

// keyOf returns the key of a fact by the names on the way to it.
func keyOf(names ...string) string {
	parts := make([]string, len(names))
	for i, n := range names {
		parts[i] = facts.Segment(n)
	}
	return strings.Join(parts, ".")
}

// Named returns the facts that have short names, as objects of the segments of these. text changes each text.
func Named(f estate.Facts, text func(string) any) map[string]any {
	out := make(map[string]any)
	for name := range aliases() {
		put(out, f, text, strings.Split(name, ".")...)
	}
	for _, mount := range mountsOf(f) {
		for _, member := range []string{"free_gb", "size_gb", "used_percent", "device", "fstype"} {
			put(out, f, text, "mounts", mount, member)
		}
	}
	return out
}

// NamedKeys lists the keys of the facts that Named reads.
func NamedKeys() []string {
	list := []string{mounts}
	for name := range aliases() {
		list = placeOf(strings.Split(name, ".")).appendKeys(list)
	}
	return list
}

// put adds the value of a key, if the host has it.
func put(to map[string]any, f estate.Facts, text func(string) any, key ...string) {
	var v any
	raw := placeOf(key).find(f)
	if scalars := scalarOf(raw); len(scalars) == 0 {
		return
	} else if v = raw; raw[0] == '"' {
		v = text(scalars[0].text)
	}
	for _, name := range key[:len(key)-1] {
		below, ok := to[name].(map[string]any)
		if !ok {
			below = make(map[string]any)
			to[name] = below
		}
		to = below
	}
	to[key[len(key)-1]] = v
}

// mountsOf returns the paths of the mounts of a host, without those that Ansible could read as something else.
func mountsOf(f estate.Facts) (out []string) {
	for key := range f {
		path, err := facts.Path(key)
		if err == nil && len(path) == 3 && path[0] == mounts && path[2] == "mount" &&
			!runs.ReservedMember(path[1]) && !reserved.Templated(path[1]) {
			out = append(out, path[1])
		}
	}
	return out
}

// place is where the fact of a key is: at the first of the keys that a host has, or computed of a mount.
type place struct {
	host          bool
	keys          []string
	mount, member string
}

func placeOf(key []string) place {
	name := keyOf(key...)
	p := place{host: name == "host", keys: []string{name, "ansible_" + name}}
	if of, ok := aliases()[name]; ok {
		p.keys = append([]string{of}, p.keys...)
	}
	if len(key) == 3 && key[0] == "mounts" {
		p.mount, p.member = key[1], key[2]
	}
	return p
}

// appendKeys adds the keys at which find looks.
func (p place) appendKeys(list []string) []string {
	list = append(list, p.keys...)
	if p.member != "" {
		list = append(list, keyOf(mounts, p.mount))
	}
	return list
}

func (p place) find(f estate.Facts) json.RawMessage {
	for _, key := range p.keys {
		if v, ok := f[key]; ok {
			return v
		}
	}
	if p.member == "" {
		return nil
	}
	return ofMount(f, p.mount, p.member)
}

// ofMount computes what Ansible has no fact of: sizes in gigabytes, and how full a file system is.
func ofMount(f estate.Facts, path, member string) json.RawMessage {
	read := func(name string) (n float64, ok bool) {
		ok = json.Unmarshal(f[keyOf(mounts, path, name)], &n) == nil
		return n, ok
	}
	free, hasFree := read("size_available")
	size, hasSize := read("size_total")
	var n float64
	switch {
	case member == "free_gb" && hasFree:
		n = free / gigabyte
	case member == "size_gb" && hasSize:
		n = size / gigabyte
	case member == "used_percent" && hasFree && hasSize && size > 0:
		n = 100 * (size - free) / size
	default:
		return nil
	}
	return strconv.AppendFloat(nil, n, 'f', 3, 64)
}
