//go:build unix

package sealer

import (
	"io/fs"
	"syscall"
)

// inodeOf returns the inode number of a file. It distinguishes files with the same name, size and time.
func inodeOf(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Ino) //nolint:unconvert // not the same type on every system
	}
	return 0
}
