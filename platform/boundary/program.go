package boundary

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/sys/unix"

	"github.com/writ-automation/writ/platform/boundary/internal/child"
)

// openProgram returns the program inside the boundary: the shim, or this binary where it has none or the kernel does
// not execute files in memory. It is a descriptor, since an upgrade on disk must not mix versions.
func openProgram() (*os.File, error) {
	if content, err := unpack(shim); err == nil {
		if f, err := sealed("shim", unix.MFD_EXEC, content); err == nil {
			if executes(f) {
				return f, nil
			}
			_ = f.Close()
		}
	}
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		return nil, fmt.Errorf("isolation: open this program: %w", err)
	}
	return f, nil
}

// unpack returns the content of a packed program; nothing is an error.
func unpack(packed []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(z, maxShim))
}

// maxShim bounds the unpacked size of the shim.
const maxShim = 16 << 20

// executes reports whether a program in memory can be started here.
func executes(f *os.File) bool {
	c := exec.Cmd{Path: child.SelfFD + "3", Args: []string{"shim"}, Env: []string{}, ExtraFiles: []*os.File{f}}
	var exit *exec.ExitError
	return errors.As(c.Run(), &exit) && exit.ExitCode() == child.Unasked
}

// sealed returns a file in memory that nobody can change. The flags are further ones of memfd_create(2).
func sealed(name string, flags int, content []byte) (*os.File, error) {
	f, err := memory(name, flags)
	if err != nil {
		return nil, err
	}
	if _, err = f.Write(content); err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS,
			unix.F_SEAL_SEAL|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// memory returns a file in memory.
func memory(name string, flags int) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|flags)
	if err == unix.EINVAL && flags == unix.MFD_EXEC { // kernels before 6.3 make every such file executable
		fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}
