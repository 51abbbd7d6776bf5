//go:build crashpoints

package compose

import (
	"os"
	"syscall"
)

// crash ends the process with SIGKILL, as a power cut would, at the point that WRIT_CRASH_POINT names. Builds for
// tests alone have it.
func crash() func(point string) {
	at := os.Getenv("WRIT_CRASH_POINT")
	if at == "" {
		return nil
	}
	return func(point string) {
		if point == at {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
}
