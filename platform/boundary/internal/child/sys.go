package child

import (
	"syscall"
	"unsafe"
)

// Numbers of calls that every architecture shares.
const (
	sysOpenTree              = 428
	sysMoveMount             = 429
	sysCloseRange            = 436
	sysMountSetattr          = 442
	sysLandlockCreateRuleset = 444
	sysLandlockAddRule       = 445
	sysLandlockRestrictSelf  = 446
)

const (
	closeRangeCloexec   = 4
	rlimitNproc         = 6
	prSetDumpable       = 4
	prSetSeccomp        = 22
	prCapbsetDrop       = 24
	prSetChildSubreaper = 36
	prSetNoNewPrivs     = 38
	prCapAmbient        = 47
	capAmbientClearAll  = 4
	lastCap             = 63
	atFDCWD             = -100
	openTreeClone       = 1
	openTreeCloexec     = 0x80000
	atRecursive         = 0x8000
	atEmptyPath         = 0x1000
	moveFromEmptyPath   = 4
	mountAttrRdonly     = 1
	waitExited          = 4
	waitNoWait          = 0x1000000
	waitAny             = 0
)

func prctl(option int, arg uintptr) error {
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, uintptr(option), arg, 0, 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// openTree clones the mounts at a path as a descriptor that move attaches elsewhere.
func openTree(path string) (int, error) {
	p, err := syscall.BytePtrFromString(path)
	if err != nil {
		return 0, err
	}
	at := atFDCWD
	fd, _, errno := syscall.Syscall(sysOpenTree, uintptr(at), uintptr(unsafe.Pointer(p)),
		openTreeClone|openTreeCloexec|atRecursive)
	if errno != 0 {
		return 0, errno
	}
	return int(fd), nil
}

// move attaches cloned mounts at a path.
func move(tree int, path string) error {
	to, err := syscall.BytePtrFromString(path)
	if err != nil {
		return err
	}
	empty := [1]byte{}
	at := atFDCWD
	_, _, errno := syscall.Syscall6(sysMoveMount, uintptr(tree), uintptr(unsafe.Pointer(&empty[0])), uintptr(at),
		uintptr(unsafe.Pointer(to)), moveFromEmptyPath, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// readOnly makes all mounts at and below a path read-only, or those of a cloned tree, for which the path is empty.
func readOnly(at int, path string) error {
	attr := [4]uint64{mountAttrRdonly}
	p, err := syscall.BytePtrFromString(path)
	if err != nil {
		return err
	}
	flags := uintptr(atRecursive)
	if path == "" {
		flags |= atEmptyPath
	}
	_, _, errno := syscall.Syscall6(sysMountSetattr, uintptr(at), uintptr(unsafe.Pointer(p)), flags,
		uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// itoa and atoi do what strconv would do, which is no package that os needs.
func itoa(n int) string {
	if n < 0 {
		return "-" + itoa(-n)
	}
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}

func atoi(s string) (int, bool) {
	sign := 1
	if len(s) > 0 && s[0] == '-' {
		sign, s = -1, s[1:]
	}
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' || n > 1<<40 {
			return 0, false
		}
		n = 10*n + int(s[i]-'0')
	}
	return sign * n, s != ""
}
