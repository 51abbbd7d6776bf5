package child

import "syscall"

// Plan is what a boundary does. The server writes it to a sealed file in memory.
type Plan struct {
	// Path, Args, Env and Dir are the tool's; Args begin with its name. Files is the number of its further descriptors.
	Path string
	Dir  string
	Args []string
	Env  []string
	// UID and GID are the account of the tool, Groups its further groups; a negative UID keeps the present account.
	UID, GID, Files int
	Groups          []int
	// PIDNamespace tells that this process is the first of a namespace of processes: with its end everything ends.
	PIDNamespace bool
	// Mounts are done in their order, by a process with a namespace of mounts.
	Mounts []Mount
	// Scope keeps signals and abstract sockets inside. Handled are the kinds of access to files that need a rule.
	Scope   bool
	Handled uint64
	Rules   []Rule
	// Filter refuses system calls that no tool needs, and user namespaces unless they may be nested.
	Filter, Nested bool
	// Free lets the tool gain privileges.
	Free bool
	// Loopback starts the loopback interface of a namespace of networks.
	Loopback bool
	// Processes limits how many processes the account may have; 0 is no limit.
	Processes int
	// Output is the descriptor that becomes the standard output; the one after it becomes the standard error. It is 0
	// outside of a container, whose engine puts its own there. In a container the tool's environment has what the image
	// sets besides, a Path without a slash is found by its PATH, and an empty one starts nothing.
	Output int
}

// Kinds of mounts.
const (
	// Private makes all mounts private, so that none of the following is seen outside.
	Private = "private"
	// Bind shows From at To, Look does so read-only. Both make To if it is missing, and see the machine as it was before
	// the first mount.
	Bind = "bind"
	Look = "look"
	// Cover shows From at To if there is something to be covered.
	Cover = "cover"
	// Memory is a new file system in memory at To, with the options in From. A To that is missing is left out.
	Memory = "memory"
	// Seal makes the file system at To read-only.
	Seal = "seal"
	// Lock makes everything mounted below To read-only.
	Lock = "lock"
	// Proc shows the processes of this namespace at To.
	Proc = "proc"
)

// Mount is one change of what is mounted.
type Mount struct{ Kind, From, To string }

// Rule allows some kinds of access to everything at and below a path.
type Rule struct {
	Path   string
	Access uint64
}

// Encode returns the plan as bytes. It must hold no NUL.
func (p *Plan) Encode() []byte {
	var e encoder
	e.texts(p.Path, p.Dir)
	e.list(p.Args)
	e.list(p.Env)
	e.numbers(p.UID, p.GID, p.Files)
	e.numbers(len(p.Groups))
	e.numbers(p.Groups...)
	e.flags(p.PIDNamespace, p.Scope, p.Filter, p.Nested, p.Free, p.Loopback)
	e.numbers(p.Processes, p.Output, int(p.Handled), len(p.Mounts), len(p.Rules))
	for _, m := range p.Mounts {
		e.texts(m.Kind, m.From, m.To)
	}
	for _, r := range p.Rules {
		e.texts(r.Path)
		e.numbers(int(r.Access))
	}
	return e
}

type encoder []byte

func (e *encoder) texts(list ...string) {
	for _, s := range list {
		*e = append(append(*e, s...), 0)
	}
}

func (e *encoder) list(list []string) {
	e.numbers(len(list))
	e.texts(list...)
}

func (e *encoder) numbers(list ...int) {
	for _, n := range list {
		e.texts(itoa(n))
	}
}

func (e *encoder) flags(list ...bool) {
	for _, b := range list {
		n := 0
		if b {
			n = 1
		}
		e.numbers(n)
	}
}

// maxPlan bounds a plan in bytes, above what the kernel accepts as arguments and environment.
const maxPlan = 64 << 20

// readPlan reads the plan from its descriptor.
func readPlan() (Plan, error) {
	var st syscall.Stat_t
	if err := syscall.Fstat(planFD, &st); err != nil {
		return Plan{}, err
	}
	if st.Size <= 0 || st.Size > maxPlan {
		return Plan{}, syscall.EINVAL
	}
	b := make([]byte, st.Size)
	for at := 0; at < len(b); {
		n, err := syscall.Pread(planFD, b[at:], int64(at))
		if err != nil && err != syscall.EINTR {
			return Plan{}, err
		}
		if n == 0 {
			return Plan{}, syscall.EINVAL
		}
		at += max(0, n)
	}
	d := decoder{rest: b}
	p := d.plan()
	if d.bad {
		return Plan{}, syscall.EINVAL
	}
	return p, nil
}

type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) plan() Plan {
	p := Plan{Path: d.text(), Dir: d.text(), Args: d.list(), Env: d.list(), UID: d.number(), GID: d.number(),
		Files: d.number()}
	for range d.count() {
		p.Groups = append(p.Groups, d.number())
	}
	for _, flag := range []*bool{&p.PIDNamespace, &p.Scope, &p.Filter, &p.Nested, &p.Free, &p.Loopback} {
		*flag = d.number() == 1
	}
	p.Processes, p.Output, p.Handled = d.number(), d.number(), uint64(d.number())
	mounts, rules := d.count(), d.count()
	for range mounts {
		p.Mounts = append(p.Mounts, Mount{d.text(), d.text(), d.text()})
	}
	for range rules {
		p.Rules = append(p.Rules, Rule{d.text(), uint64(d.number())})
	}
	return p
}

func (d *decoder) text() string {
	for i, c := range d.rest {
		if c == 0 {
			s := string(d.rest[:i])
			d.rest = d.rest[i+1:]
			return s
		}
	}
	d.bad, d.rest = true, nil
	return ""
}

func (d *decoder) number() int {
	n, ok := atoi(d.text())
	d.bad = d.bad || !ok
	return n
}

// count reads the length of a list, which the rest of the plan bounds.
func (d *decoder) count() int {
	n := d.number()
	if n < 0 || n > len(d.rest) {
		d.bad, n = true, 0
	}
	return n
}

func (d *decoder) list() []string {
	out := make([]string, 0, 8)
	for range d.count() {
		out = append(out, d.text())
	}
	return out
}
