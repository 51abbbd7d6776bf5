package boundary_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/writ-automation/writ/platform/boundary"
)

// The names of processes that refuse system calls to the program of their arguments or execute it in a user namespace,
// and of one that prints what it finds.
const (
	innerName  = "inner"
	refuseName = "refuse"
	statusName = "status"
)

// machine is a machine that allows less than this one.
type machine struct {
	caps  string // those that root has, as setpriv takes them; empty for all
	wrap  string // shell commands that put words before the program; mounts are private
	root  found  // by a server that is root
	other found  // by a server of an ordinary account
}

// found is what Open chooses, and parts of the reason.
type found struct {
	level  boundary.Level
	reason []string
	scoped bool
}

// machines are machines by what they lack.
func machines() map[string]machine {
	strongest, unscoped := found{boundary.Namespaces, nil, true}, found{boundary.Namespaces, nil, false}
	landlock := func(reason ...string) found { return found{boundary.Landlock, reason, true} }
	users := func(reason string) found { return found{boundary.Users, []string{reason}, true} }
	none := func(reason ...string) found { return found{boundary.None, reason, false} }
	refuse := func(what string) string { return "set -- \"$program\" " + refuseName + " " + what + " \"$@\"; " }
	const (
		hideProc   = "mount -t tmpfs tmpfs /proc/irq; "
		sealProc   = "mount --bind /proc/sys /proc/sys; mount -o remount,bind,ro /proc/sys; "
		noNested   = "set -- sh -c 'echo 0 >/proc/sys/user/max_user_namespaces; exec \"$@\"' sh \"$@\"; "
		inner      = "set -- \"$program\" " + innerName + " \"$@\"; "
		containers = "-all,+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap,+net_bind_service,+net_raw," +
			"+sys_chroot,+mknod,+audit_write,+setfcap"
		noAdmin  = "namespaces is not possible: the server lacks the capabilities "
		masked   = "/proc is masked, as in a container or by ProtectProc of systemd; remove that"
		allow    = "allow user namespaces"
		profile  = "seccomp profile"
		noUsers  = "users is not possible: the server lacks the capabilities "
		noKernel = "landlock is not possible: the kernel has no landlock; add it to the kernel's parameter lsm="
	)
	return map[string]machine{
		"nothing less":                {root: strongest, other: strongest},
		"capabilities of a container": {caps: containers, root: users(noAdmin + "SYS_ADMIN;"), other: strongest},
		"no capability": {caps: "-all", other: strongest,
			root: none(noAdmin+"CHOWN, SETGID, SETUID, SYS_ADMIN;", noUsers+"CHOWN, KILL, SETGID, SETUID;")},
		"no right to end a run": {caps: "-all,+chown,+setgid,+setuid", root: none(noAdmin+"SYS_ADMIN;", noUsers+"KILL;"),
			other: strongest},
		"a part of /proc is hidden":    {wrap: hideProc, root: strongest, other: landlock(masked)},
		"a part of /proc is read-only": {wrap: sealProc, root: strongest, other: landlock(masked)},
		"a container in a container":   {wrap: inner + hideProc, root: users(masked), other: landlock(masked)},
		"no user namespaces": {wrap: noNested + inner, root: strongest,
			other: landlock("set the sysctl user.max_user_namespaces above 0")},
		"user namespaces are filtered": {wrap: refuse("users"), root: strongest, other: landlock(allow, profile)},
		"landlock is filtered":         {wrap: refuse("landlock"), root: unscoped, other: unscoped},
		"landlock fails late":          {wrap: refuse("restrict"), root: unscoped, other: unscoped},
		"both are filtered":            {wrap: refuse("both"), root: unscoped, other: none(allow, profile, noKernel)},
		"a container": {caps: containers, wrap: hideProc + refuse("users"), root: users(noAdmin + "SYS_ADMIN;"),
			other: landlock(allow, profile)},
		"a container without landlock": {caps: containers, wrap: hideProc + refuse("both"),
			root: found{boundary.Users, []string{noAdmin + "SYS_ADMIN;"}, false}, other: none(allow, profile, noKernel)},
	}
}

// TestLesserMachines opens a boundary where the kernel allows less. It takes the strongest level that works there, and
// names what is missing for a stronger one and what to do.
func TestLesserMachines(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		return // another account cannot make them; TestLesserMachines of root repeats each as one
	}
	program := filepath.Join(places(t), "program")
	install(t, "/proc/self/exe", program)
	for name, m := range machines() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for account, want := range map[string]found{
				"": m.root, "--reuid 64999 --regid 64999 --clear-groups": m.other,
			} {
				got := m.status(t, program, account)
				if got.Level != want.level || got.Scoped != want.scoped || (want.reason == nil) != (got.Reason == "") {
					t.Errorf("%q: %+v, want %+v", account, got, want)
				}
				for _, part := range want.reason {
					if !strings.Contains(got.Reason, part) {
						t.Errorf("%q: the reason is %q, without %q", account, got.Reason, part)
					}
				}
			}
		})
	}
}

// status returns what a server of an account finds in a machine.
func (m machine) status(t *testing.T, program, account string) (got boundary.Status) {
	t.Helper()
	if m.caps != "" {
		account += " --bounding-set " + m.caps
	}
	script := "set -e; program=$1; set -- setpriv " + account + " \"$program\" " + statusName + "; " +
		m.wrap + "exec \"$@\""
	c := exec.Command("/bin/sh", "-c", script, "sh", program)
	c.Dir, c.SysProcAttr = "/", &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v %s", err, out)
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	return got
}

// inner executes a program as root of a user namespace, whose ids end at 65535 as those of containers do.
func inner(argv []string) int {
	ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1 << 16}}
	c := exec.Command(argv[0], argv[1:]...)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS, UidMappings: ids,
		GidMappings: ids, GidMappingsEnableSetgroups: true}
	if err := c.Run(); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// printStatus prints what Open finds.
func printStatus() int {
	b, err := boundary.Open(boundary.Config{Mode: boundary.Auto})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	if err := json.NewEncoder(os.Stdout).Encode(b.Status()); err != nil || b.Close() != nil {
		return 1
	}
	return 0
}

// refuseCalls has the kernel refuse calls and becomes another program.
func refuseCalls(what string, argv []string) int {
	runtime.LockOSThread()
	const number, first, newUser = 0, 16, unix.CLONE_NEWUSER
	ld := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	ret := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET, K: k} }
	unless := func(op uint16, k uint32, skip uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | op | unix.BPF_K, Jf: skip, K: k}
	}
	eperm, enosys := ret(unix.SECCOMP_RET_ERRNO|uint32(unix.EPERM)), ret(unix.SECCOMP_RET_ERRNO|uint32(unix.ENOSYS))
	list := []unix.SockFilter{ld(number)}
	if what == "landlock" || what == "both" {
		for _, n := range []uint32{unix.SYS_LANDLOCK_CREATE_RULESET, unix.SYS_LANDLOCK_ADD_RULE,
			unix.SYS_LANDLOCK_RESTRICT_SELF} {
			list = append(list, unless(unix.BPF_JEQ, n, 1), eperm)
		}
	}
	if what == "restrict" {
		list = append(list, unless(unix.BPF_JEQ, unix.SYS_LANDLOCK_RESTRICT_SELF, 1), eperm)
	}
	if what == "users" || what == "both" { // as the usual profile of containers does
		list = append(list, unless(unix.BPF_JEQ, unix.SYS_CLONE3, 1), enosys)
		for _, n := range []uint32{unix.SYS_CLONE, unix.SYS_UNSHARE} {
			list = append(list, unless(unix.BPF_JEQ, n, 3), ld(first), unless(unix.BPF_JSET, newUser, 1), eperm, ld(number))
		}
	}
	list = append(list, ret(unix.SECCOMP_RET_ALLOW))
	prog := unix.SockFprog{Len: uint16(len(list)), Filter: &list[0]} //nolint:gosec // a short list
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0); err != nil {
		fmt.Println(err)
		return 1
	}
	path, err := exec.LookPath(argv[0])
	if err == nil {
		err = syscall.Exec(path, argv, os.Environ())
	}
	fmt.Println(err)
	return 1
}
