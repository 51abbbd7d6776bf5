package compose

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/adapters/tools/proc"
	"github.com/writ-automation/writ/platform/boundary"
	"github.com/writ-automation/writ/platform/config"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/runs"
)

var profileName = lazyregexp.New(`^[a-z][a-z0-9._-]{0,62}$`)

// containerBase is the base of profiles whose runs execute in a container. It is no profile itself, since it has no
// image.
const containerBase = "container"

// imageForm is the name of an image with its digest, which nobody can replace.
var imageForm = lazyregexp.New(`^[a-z0-9][a-zA-Z0-9._/:-]{0,255}@sha256:[0-9a-f]{64}$`)

// builtinProfiles are the profiles that every executor has, which are also the bases of others.
func builtinProfiles() map[string]proc.Profile {
	homes := []string{"/home", "/root"}
	if home, err := os.UserHomeDir(); err == nil && home != "/" && filepath.IsAbs(home) {
		homes = append(homes, home)
	}
	var engines []boundary.Path
	for _, path := range containerEngines() {
		engines = append(engines, boundary.Path{Name: path, Write: true})
	}
	return map[string]proc.Profile{
		runs.StandardProfile: {},
		runs.SealedProfile:   {Profile: boundary.Profile{NoNetwork: true, ReadOnly: true, Hide: homes}, NoHome: true},
		runs.HostProfile:     {Profile: boundary.Profile{Host: true, Show: engines}},
	}
}

// profiles returns the profiles of an executor. An error names the flag or the member of the configuration file.
func (i *Isolation) profiles() (proc.Profiles, error) {
	out := proc.Profiles{Named: builtinProfiles(), Default: i.Profile, Queues: map[string][]string{}}
	builtin := builtinProfiles()
	for _, name := range slices.Sorted(maps.Keys(i.Profiles)) {
		if _, taken := builtin[name]; taken || !profileName.MatchString(name) {
			return out, fmt.Errorf("profiles: %q is the name of a built-in profile, or has other characters than a-z, 0-9 "+
				"and ._-", name)
		}
		p, err := i.profile(i.Profiles[name], builtin)
		if err != nil {
			return out, fmt.Errorf("profiles: %s: %w", name, err)
		}
		out.Named[name] = p
	}
	if _, ok := out.Named[i.Profile]; !ok && i.Profile != "" {
		return out, fmt.Errorf("isolation-profile: there is no profile %q", i.Profile)
	}
	for _, text := range i.QueueProfiles {
		queue, name, ok := strings.Cut(text, "=")
		if !ok || queue == "" {
			return out, fmt.Errorf("queue-profile: expected QUEUE=NAME, not %q", text)
		}
		if _, ok := out.Named[name]; !ok {
			return out, fmt.Errorf("queue-profile: there is no profile %q", name)
		}
		out.Queues[queue] = append(out.Queues[queue], name)
	}
	return out, nil
}

// profile returns a profile of the configuration file.
func (i *Isolation) profile(members map[string][]string, builtin map[string]proc.Profile) (proc.Profile, error) {
	base := runs.StandardProfile
	if list := members["base"]; len(list) == 1 {
		base = list[0]
	}
	p, ok := builtin[base]
	if base == containerBase {
		p, ok = proc.Profile{NoHome: true}, true
	}
	if !ok {
		return p, fmt.Errorf("base: expected standard, sealed, container or host, not %q", base)
	}
	p.Show, p.Hide = slices.Clone(p.Show), slices.Clone(p.Hide)
	for _, key := range slices.Sorted(maps.Keys(members)) {
		set, ok := i.member(&p, key)
		if !ok {
			return p, fmt.Errorf("unknown key %q", key)
		}
		if err := set(members[key]); err != nil {
			return p, fmt.Errorf("%s: %w", key, err)
		}
	}
	switch {
	case base != containerBase && p.Image != "":
		return p, errors.New("image: only the base container has an image")
	case base == containerBase && p.Image == "":
		return p, errors.New("image: the base container needs one, as NAME@sha256:DIGEST")
	case p.Image != "" && p.Nested:
		return p, errors.New("nested: the engine of a container permits no further user namespaces in it")
	}
	if p.Host && (p.NoNetwork || p.ReadOnly || p.Nested) {
		return p, errors.New("network, read_only and nested mean nothing with the base host, whose runs can become root")
	}
	return p, nil
}

// member returns how a member of a profile is set.
func (i *Isolation) member(p *proc.Profile, key string) (set func(list []string) error, known bool) {
	one := func(parse func(text string) error) func([]string) error {
		return func(list []string) error {
			if len(list) != 1 {
				return errors.New("expected one value")
			}
			return parse(list[0])
		}
	}
	yes := func(to *bool) func([]string) error {
		return one(func(text string) (err error) {
			if *to, err = strconv.ParseBool(text); err != nil {
				err = errors.New("expected true or false")
			}
			return err
		})
	}
	switch key {
	case "base":
		return one(func(string) error { return nil }), true
	case "network":
		return one(func(text string) error {
			p.NoNetwork = text == "none"
			if text != "none" && text != "host" {
				return errors.New("expected host or none")
			}
			return nil
		}), true
	case "read_only":
		return yes(&p.ReadOnly), true
	case "nested":
		return yes(&p.Nested), true
	case "show":
		return func(list []string) error { return show(&p.Show, "", list) }, true
	case "hide":
		return func(list []string) error { return hide(&p.Hide, list) }, true
	case "groups":
		return func(list []string) error { return groups(&p.Groups, list) }, true
	case "memory":
		return one(func(text string) error { return lower(&p.Memory, i.Memory, "--run-memory", text) }), true
	case "tmp_size":
		return one(func(text string) error { return lower(&p.SharedMemory, i.TmpSize, "--run-tmp-size", text) }), true
	case "pids":
		return one(func(text string) error {
			n, err := strconv.Atoi(text)
			if err != nil || n <= 0 || i.Processes > 0 && n > i.Processes {
				return fmt.Errorf("expected a number from 1 to --run-pids, which is %d", i.Processes)
			}
			p.Processes = n
			return nil
		}), true
	case "image":
		return one(func(text string) error {
			if !imageForm.MatchString(text) {
				return fmt.Errorf("expected NAME@sha256:DIGEST, not %q; podman images --digests lists the digests", text)
			}
			p.Image = text
			return nil
		}), true
	}
	return nil, false
}

// lower sets a limit in bytes that is not above the one of every run.
func lower(to *int64, most int64, flag, text string) error {
	n, err := config.ParseSize(text)
	if err != nil {
		return err
	}
	if n <= 0 || most > 0 && n > most {
		return fmt.Errorf("expected a size above 0 that is at most %s", flag)
	}
	*to = n
	return nil
}

// show adds paths that runs see, each PATH or PATH:rw. The prefix begins an error.
func show(to *[]boundary.Path, prefix string, list []string) error {
	for _, text := range list {
		name, write := strings.CutSuffix(text, ":rw")
		if !filepath.IsAbs(name) {
			return fmt.Errorf("%sexpected an absolute path, not %q", prefix, text)
		}
		*to = append(*to, boundary.Path{Name: filepath.Clean(name), Write: write})
	}
	return nil
}

func hide(to *[]string, list []string) error {
	for _, path := range list {
		if !filepath.IsAbs(path) {
			return fmt.Errorf("expected an absolute path, not %q", path)
		}
		*to = append(*to, filepath.Clean(path))
	}
	return nil
}

func groups(to *[]int, list []string) error {
	for _, name := range list {
		id, err := strconv.Atoi(name)
		if g, lookup := user.LookupGroup(name); err != nil && lookup == nil {
			id, err = strconv.Atoi(g.Gid)
		}
		if err != nil || id <= 0 {
			return fmt.Errorf("there is no group %q, or it is that of root", name)
		}
		*to = append(*to, id)
	}
	return nil
}

// privileged reports whether runs with a profile can become root, or whether this process does not know it.
func (i *Isolation) privileged() (func(profile string) bool, error) {
	known, err := i.profiles()
	if err != nil {
		return nil, err
	}
	return func(name string) bool {
		p, ok := known.Named[name]
		return !ok || p.Host
	}, nil
}
