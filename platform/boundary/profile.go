package boundary

import (
	"errors"
	"slices"
)

// Profile is what a run may do inside of the level. The zero value is the standard one.
type Profile struct {
	// Host lets a run gain privileges by a program such as sudo. It has processes and shared memory of its own, but what
	// is hidden stays so only as long as it is not root.
	Host bool
	// NoNetwork leaves the loopback interface alone, one of its own. ReadOnly lets it write into its own files alone.
	NoNetwork, ReadOnly bool
	// Show and Hide are added to those of the boundary.
	Show []Path
	Hide []string
	// Groups are further groups of its account.
	Groups []int
	// Processes and SharedMemory replace the limits of the boundary unless they are 0.
	Processes    int
	SharedMemory int64
	// Nested allows it to make user namespaces.
	Nested bool
	// Image is the image of a container, as NAME@sha256:DIGEST. A run in one sees that instead of the file system of the
	// machine, and besides only its own files and what is shown.
	Image string
}

var (
	errNotSealed = errors.New("only the level namespaces can take away the network or the right to write")
	errNotHidden = errors.New("neither the level users nor the level none hides a path")
	errNotHost   = errors.New("becoming root needs the level namespaces and a server that is root")
	errNoGroups  = errors.New("only a run with an account of its own has groups")
	errNotNested = errors.New("the level none has no rules to relax")
	errNotInside = errors.New("a container needs the level namespaces")
)

// Gives runs a program in a profile. It returns an error that says why runs cannot have it.
func (b *Boundary) Gives(p Profile) error {
	level := b.status.Level
	switch {
	case p.Host && (level != Namespaces || b.pool == nil):
		return errNotHost
	case p.Image != "" && level != Namespaces:
		return errNotInside
	case (p.NoNetwork || p.ReadOnly) && level != Namespaces:
		return errNotSealed
	case len(p.Hide) > 0 && (level == Users || level == None):
		return errNotHidden
	case len(p.Groups) > 0 && b.pool == nil:
		return errNoGroups
	case level == None && p.Nested:
		return errNotNested
	case level == None:
		return nil
	}
	if err := b.probe(p); err != nil {
		return errors.New(explain(err))
	}
	return nil
}

// hiddenFrom lists what a command does not see, resolved, sorted, each once.
func (b *Boundary) hiddenFrom(c Command) []string {
	out := slices.Clone(b.hidden)
	for _, path := range c.Profile.Hide {
		out = append(out, real(path))
	}
	slices.Sort(out)
	return slices.Compact(out)
}
