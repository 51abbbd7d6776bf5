package lifecycle

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// UnmapProgram unmaps the pages of this program's file that are only read. The kernel maps them again as they are used,
// without reading the disk while it still caches them; those that only the start needed stay away.
func UnmapProgram() error {
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("find the file of this program: %w", err)
	}
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return fmt.Errorf("read the memory map: %w", err)
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) != 6 || fields[5] != self || strings.Contains(fields[1], "w") {
			continue
		}
		from, to, _ := strings.Cut(fields[0], "-")
		first, err := strconv.ParseUint(from, 16, 64)
		end, also := strconv.ParseUint(to, 16, 64)
		if err != nil || also != nil || end <= first {
			return fmt.Errorf("read the memory map: %q", fields[0])
		}
		_, _, code := unix.Syscall(unix.SYS_MADVISE, uintptr(first), uintptr(end-first), unix.MADV_DONTNEED)
		if code != 0 {
			return fmt.Errorf("unmap the pages of the program: %w", code)
		}
	}
	return lines.Err()
}
