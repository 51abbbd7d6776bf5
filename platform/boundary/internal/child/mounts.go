package child

import (
	"os"
	"syscall"
)

// closed are the options of file systems that nothing executes from.
const closed = syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC

// mountAll does the mounts of a plan. What is to be shown is opened before anything is hidden.
func mountAll(list []Mount) failure {
	defer syscall.Umask(syscall.Umask(0)) // every account passes the directories that are made here
	trees := make([]int, len(list))
	for i, m := range list {
		if m.Kind != Bind && m.Kind != Look && m.Kind != Cover {
			continue
		}
		tree, err := openTree(m.From)
		if err != nil {
			return failure{"show " + m.From, err}
		}
		if trees[i] = tree; m.Kind == Look {
			err = readOnly(tree, "")
		}
		if err != nil {
			return failure{"show " + m.From + " read-only", err}
		}
	}
	for i, m := range list {
		if err := m.do(trees[i]); err != nil {
			return failure{m.Kind + " " + m.To, err}
		}
	}
	return failure{}
}

func (m Mount) do(tree int) error {
	switch m.Kind {
	case Private:
		return syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "")
	case Bind, Look:
		err := noLinks(m.To)
		if err == nil {
			err = move(tree, m.To)
		}
		if err == syscall.ENOENT {
			if err = makePlace(tree, m.To); err == nil {
				err = move(tree, m.To)
			}
		}
		_ = syscall.Close(tree)
		return err
	case Cover:
		err := move(tree, m.To)
		_ = syscall.Close(tree)
		return present(err)
	case Memory:
		return present(syscall.Mount("tmpfs", m.To, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, m.From))
	case Seal:
		return mounted(syscall.Mount("", m.To, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY|closed, ""))
	case Lock:
		return mounted(readOnly(atFDCWD, m.To))
	case Proc:
		return syscall.Mount("proc", m.To, "proc", closed, "")
	}
	return syscall.EINVAL
}

// present ignores that something is missing: below a hidden directory nothing else has to be hidden.
func present(err error) error {
	if err == syscall.ENOENT || err == syscall.ENOTDIR {
		return nil
	}
	return err
}

// mounted ignores that nothing is mounted at a path.
func mounted(err error) error {
	if err == syscall.EINVAL {
		return nil
	}
	return present(err)
}

// makePlace makes what a tree can be attached to: a directory, or a file for a file.
func makePlace(tree int, path string) error {
	var st syscall.Stat_t
	if err := syscall.Fstat(tree, &st); err != nil {
		return err
	}
	if st.Mode&syscall.S_IFMT == syscall.S_IFDIR {
		return makeDirectories(path)
	}
	for i := len(path) - 1; i > 0; i-- {
		if path[i] != '/' {
			continue
		}
		if err := makeDirectories(path[:i]); err != nil {
			return err
		}
		break
	}
	fd, err := syscall.Open(path, syscall.O_CREAT|syscall.O_EXCL|syscall.O_CLOEXEC, 0o644)
	if err == nil {
		err = syscall.Close(fd)
	}
	return err
}

// noLinks refuses a path with a link, which only an earlier program of the run can have put there: the path was
// resolved outside.
func noLinks(path string) error {
	for i := 1; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		info, err := os.Lstat(path[:i])
		if err != nil {
			break
		}
		if info.Mode()&os.ModeSymlink != 0 {
			return syscall.ELOOP
		}
	}
	return nil
}

// makeDirectories makes a directory and its parents, which everybody may pass.
func makeDirectories(path string) error {
	for i := 1; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		if err := syscall.Mkdir(path[:i], 0o755); err != nil && err != syscall.EEXIST {
			if _, stat := os.Stat(path[:i]); stat != nil {
				return err
			}
		}
	}
	return nil
}
