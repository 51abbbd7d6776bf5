package lifecycle

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// NoCoreDumps prevents core dumps of this process and its children, since their memory contains secrets.
func NoCoreDumps() error {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("forbid core dumps: %w", err)
	}
	return nil
}
