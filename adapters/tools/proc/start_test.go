package proc

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestStartErrorsNameTheirCause checks that a child without descriptors gets an error with the cause, and that other
// errors are unchanged.
func TestStartErrorsNameTheirCause(t *testing.T) {
	t.Parallel()
	err := startError(&os.PathError{Op: "fork/exec", Path: "/bin/true", Err: syscall.EBADF})
	if !errors.Is(err, syscall.EMFILE) || !errors.Is(err, syscall.EBADF) ||
		!strings.Contains(err.Error(), "too many open files") {
		t.Errorf("%v", err)
	}
	if missing := (&os.PathError{Op: "fork/exec", Path: "/none", Err: syscall.ENOENT}); !errors.Is(startError(missing),
		syscall.ENOENT) || errors.Is(startError(missing), syscall.EMFILE) {
		t.Errorf("%v", startError(missing))
	}
}
