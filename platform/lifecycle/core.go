package lifecycle

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// NoCoreDumps keeps this process, and every one that it starts, from leaving its memory in a file when it crashes:
// secrets are in it.
func NoCoreDumps() error {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("forbid core dumps: %w", err)
	}
	return nil
}
