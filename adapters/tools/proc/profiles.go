package proc

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/writ-automation/writ/platform/boundary"
	"github.com/writ-automation/writ/platform/cgroup"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
)

// Profile is what some runs may do inside of the level.
type Profile struct {
	boundary.Profile
	// NoHome keeps the home of the server's account from them.
	NoHome bool
	// Memory is their limit of memory in bytes, 0 for that of every run.
	Memory int64
}

// Profiles are the profiles that an executor has. The zero value has the standard one alone.
type Profiles struct {
	Named map[string]Profile
	// Default is the profile of a run for which nobody chose one; empty is the standard one.
	Default string
	// Queues are, by queue, the profiles that its runs may have. Without a choice they get the first one.
	Queues map[string][]string
}

// choose returns the name of the profile of a run. Sealed is allowed everywhere, since it only takes from a run.
func (p Profiles) choose(queue, name string) (string, error) {
	listed := p.Queues[queue]
	if len(listed) == 0 {
		listed = []string{p.Default}
		if p.Default == "" {
			listed[0] = runs.StandardProfile
		}
	}
	switch {
	case name == "":
		return listed[0], nil
	case name == runs.SealedProfile || slices.Contains(listed, name):
		return name, nil
	}
	return "", execution.ProfileRefused.New("the queue %s does not allow the isolation profile %s here, only %s; name it "+
		"with --queue-profile %s=%s", queue, name, strings.Join(append(listed, runs.SealedProfile), ", "), queue, name)
}

// profiled is the boundary with a profile.
type profiled struct {
	*Runner
	name    string
	profile Profile
	gives   func() error // whether this machine can give the profile
}

// profiled returns the boundary with a profile. It is tried by a program when the first run has it.
func (r *Runner) profiled(name string) (*profiled, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.chosen[name]; p != nil {
		return p, nil
	}
	profile, ok := r.profiles.Named[name]
	if !ok && name != runs.StandardProfile {
		return nil, execution.ProfileRefused.New("this executor has no isolation profile %s", name)
	}
	p := &profiled{r, name, profile, sync.OnceValue(func() error { return nil })}
	if name != runs.StandardProfile {
		p.gives = sync.OnceValue(func() error { return r.boundary.Gives(profile.Profile) })
	}
	r.chosen[name] = p
	return p, nil
}

// Choose returns the boundary with the profile of a run.
func (r *Runner) Choose(queue, profile string) (execution.Boundary, error) {
	name, err := r.profiles.choose(queue, profile)
	if err != nil {
		return nil, err
	}
	p, err := r.profiled(name)
	if err != nil {
		return nil, err
	}
	if err := p.gives(); err != nil {
		return nil, execution.ProfileRefused.New("this executor cannot give the isolation profile %s: %v", name, err)
	}
	return p, nil
}

// TryProfiles returns an error that names the first profile of the queues and of runs without a choice which this
// machine cannot give.
func (r *Runner) TryProfiles() error {
	names := []string{""}
	for _, list := range r.profiles.Queues {
		names = append(names, list...)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if name == "" {
			name, _ = r.profiles.choose("", "")
		}
		p, err := r.profiled(name)
		if err == nil {
			err = p.gives()
		}
		if err != nil {
			return fmt.Errorf("isolation profile %s: %w", name, err)
		}
	}
	return nil
}

// engineThreads is how many of the processes of a container's group are threads of its engine, at most.
const engineThreads = 128

// limits returns those of a run with the profile.
func (p *profiled) limits() cgroup.Limits {
	out := p.Runner.limits
	if p.profile.Memory > 0 {
		out.Memory = p.profile.Memory
	}
	if p.profile.Processes > 0 {
		out.Processes = p.profile.Processes
	}
	if p.profile.Image != "" && out.Processes > 0 {
		out.Processes += engineThreads
	}
	return out
}
