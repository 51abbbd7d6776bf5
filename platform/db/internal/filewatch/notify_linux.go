package filewatch

import (
	"fmt"
	"os"
	"syscall"
)

// notify has the kernel report writes to a file.
func notify(path string) (<-chan struct{}, func(), error) {
	fd, err := syscall.InotifyInit1(syscall.IN_NONBLOCK | syscall.IN_CLOEXEC)
	if err != nil {
		return nil, nil, fmt.Errorf("inotify: %w", err)
	}
	f := os.NewFile(uintptr(fd), "inotify")
	if _, err := syscall.InotifyAddWatch(fd, path, syscall.IN_MODIFY); err != nil {
		_ = f.Close()
		return nil, nil, fmt.Errorf("watch %s: %w", path, err)
	}
	out, done := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 4096)
		for {
			if _, err := f.Read(buf); err != nil {
				return // closed
			}
			put(out)
		}
	}()
	return out, func() { _ = f.Close(); <-done }, nil
}
