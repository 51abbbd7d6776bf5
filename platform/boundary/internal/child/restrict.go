package child

import (
	"syscall"
	"unsafe"
)

// restrict closes the calling thread, and with it everything that it starts: it never gains privileges, reaches
// nothing outside by a signal or an abstract socket, and cannot call what no tool needs. A free plan restricts nothing.
func restrict(p *Plan) failure {
	if p.Free {
		return failure{}
	}
	// Both fail where the thread has no such right; no_new_privs then keeps it from getting one.
	_, _, _ = syscall.RawSyscall6(syscall.SYS_PRCTL, prCapAmbient, capAmbientClearAll, 0, 0, 0, 0)
	for c := range uintptr(lastCap) {
		_ = prctl(prCapbsetDrop, c)
	}
	if err := prctl(prSetNoNewPrivs, 1); err != nil {
		return failure{"forbid new privileges", err}
	}
	if p.Scope || p.Handled != 0 {
		if f := landlock(p); f.err != nil {
			return f
		}
	}
	if p.Filter {
		if err := filter(program(p.Nested)); err != nil {
			return failure{"filter system calls", err}
		}
	}
	return failure{}
}

// scopes are those of abstract sockets and signals.
const scopes = 3

const ruleBeneath = 1

type rulesetAttr struct{ files, network, scoped uint64 }

// beneathAttr is packed in the kernel: 8 bytes and 4.
type beneathAttr struct {
	access uint64
	fd     int32
}

// landlock restricts the thread by a ruleset.
func landlock(p *Plan) failure {
	attr := rulesetAttr{files: p.Handled}
	size := unsafe.Sizeof(attr.files)
	if p.Scope {
		attr.scoped, size = scopes, unsafe.Sizeof(attr)
	}
	set, _, errno := syscall.RawSyscall(sysLandlockCreateRuleset, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return failure{"make a landlock ruleset", errno}
	}
	for _, r := range p.Rules {
		if err := allow(int(set), r); err != nil {
			return failure{"allow " + r.Path, err}
		}
	}
	if _, _, errno := syscall.RawSyscall(sysLandlockRestrictSelf, set, 0, 0); errno != 0 {
		return failure{"apply the landlock ruleset", errno}
	}
	_ = syscall.Close(int(set))
	return failure{}
}

// Access to a plain file: to execute, write, read, truncate and control it.
const fileAccess = 1 | 1<<1 | 1<<2 | 1<<14 | 1<<15

const oPath = 0x200000

// allow adds a rule. A path that is gone needs none.
func allow(set int, r Rule) error {
	fd, err := syscall.Open(r.Path, oPath|syscall.O_CLOEXEC|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return present(err)
	}
	defer func() { _ = syscall.Close(fd) }()
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return err
	}
	switch st.Mode & syscall.S_IFMT {
	case syscall.S_IFLNK:
		return nil
	case syscall.S_IFDIR:
	default:
		r.Access &= fileAccess
	}
	attr := beneathAttr{access: r.Access, fd: int32(fd)}
	_, _, errno := syscall.RawSyscall6(sysLandlockAddRule, uintptr(set), ruleBeneath, uintptr(unsafe.Pointer(&attr)),
		0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// instruction is one of the filter's machine.
type instruction struct {
	code   uint16
	jt, jf uint8
	k      uint32
}

// Codes of instructions, and the places of what they load.
const (
	load     = 0x20
	equal    = 0x15
	atLeast  = 0x35
	anyBit   = 0x45
	answer   = 0x06
	atNumber = 0
	atArch   = 4
	atFirst  = 16
	atSecond = 24
	permit   = 0x7fff0000
	fail     = 0x00050000

	cloneNewUser = 0x10000000
	pushInput    = 0x5412 // TIOCSTI
	pasteInput   = 0x541c // TIOCLINUX
)

// table has the numbers of an architecture.
type table struct {
	arch                          uint32
	refused                       []uint32
	clone, unshare, clone3, ioctl uint32
	foreign                       uint32 // numbers from here on are of another binary interface; 0 is none
}

// program returns the filter for this machine.
func program(nested bool) []instruction {
	var out []instruction
	for _, t := range tables() {
		part := t.part(nested)
		out = append(out, instruction{load, 0, 0, atArch}, instruction{equal, 1, 0, t.arch},
			instruction{0x05, 0, 0, uint32(len(part))})
		out = append(out, part...)
	}
	return append(out, instruction{answer, 0, 0, fail | uint32(syscall.EPERM)})
}

// part returns the instructions of one architecture. Each of them ends with an answer.
func (t table) part(nested bool) []instruction {
	refuse := func(errno syscall.Errno) instruction { return instruction{answer, 0, 0, fail | uint32(errno)} }
	out := []instruction{{load, 0, 0, atNumber}}
	if t.foreign != 0 {
		out = append(out, instruction{atLeast, 0, 1, t.foreign}, refuse(syscall.EPERM))
	}
	for _, n := range t.refused {
		out = append(out, instruction{equal, 0, 1, n}, refuse(syscall.EPERM))
	}
	// Without clone3, whose flags a filter cannot see, the library falls back to clone.
	out = append(out, instruction{equal, 0, 1, t.clone3}, refuse(syscall.ENOSYS))
	forks := []uint32{t.clone, t.unshare}
	if nested {
		forks = nil
	}
	for _, n := range forks {
		out = append(out, instruction{equal, 0, 4, n}, instruction{load, 0, 0, atFirst},
			instruction{anyBit, 0, 1, cloneNewUser}, refuse(syscall.EPERM), instruction{answer, 0, 0, permit})
	}
	out = append(out, instruction{equal, 0, 4, t.ioctl}, instruction{load, 0, 0, atSecond},
		instruction{equal, 1, 0, pushInput}, instruction{equal, 0, 1, pasteInput}, refuse(syscall.EPERM))
	return append(out, instruction{answer, 0, 0, permit})
}

const filterMode = 2

// filter applies a filter to the thread.
func filter(list []instruction) error {
	prog := struct {
		n    uint16
		list *instruction
	}{uint16(len(list)), &list[0]}
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetSeccomp, filterMode, uintptr(unsafe.Pointer(&prog)), 0,
		0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
