package goplugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/hashicorp/go-plugin/runner"

	"github.com/writ-automation/writ/platform/boundary"
	"github.com/writ-automation/writ/platform/program"
	"github.com/writ-automation/writ/ports/secret"
)

// maxHandshake bounds what a plugin may print on its standard output; the rest is dropped.
const maxHandshake = 32 << 10

// process is a supervised process in its box. Its directory has the socket that it serves.
type process struct {
	path   string
	dir    *os.File
	box    *program.Box
	cmd    program.Command
	socket *os.File // opened as a path; nil before the handshake

	stdout, stderr *io.PipeReader
	outEnd, errEnd *io.PipeWriter
	ctx            context.Context //nolint:containedctx // the life of the process, which ends with kill
	kill           context.CancelFunc
	done           chan struct{}
	err            error // why it ended; read after done
}

var _ runner.Runner = (*process)(nil)

// newProcess prepares a process that go-plugin starts. Whatever happens then, the caller calls stop.
func newProcess(
	path string, cmd *exec.Cmd, dir string, b *boundary.Boundary, env map[string]secret.Text,
) (*process, error) {
	box, err := program.Enter(b, "", filepath.Dir(dir))
	if err != nil {
		return nil, err
	}
	p := &process{path: path, box: box, done: make(chan struct{})}
	p.ctx, p.kill = context.WithCancel(context.Background())
	show := []boundary.Path{{Name: path}, {Name: dir, Write: true}}
	if err = box.Give(dir); err == nil {
		err = box.Sees(path, show...)
	}
	if err == nil {
		p.dir, err = os.Open(dir)
	}
	if err != nil {
		return nil, errors.Join(err, box.Close())
	}
	p.stdout, p.outEnd = io.Pipe()
	p.stderr, p.errEnd = io.Pipe()
	// A path of a socket has little room, so that the plugin makes its own relative to its working directory.
	p.cmd = program.Command{
		Path: path, Dir: dir, Box: box, Show: show,
		Env:    append(cmd.Env, "PATH="+os.Getenv("PATH"), "HOME="+dir, "PLUGIN_UNIX_SOCKET_DIR=."),
		Stdout: &head{to: p.outEnd, left: maxHandshake}, Stderr: p.errEnd,
	}
	for name, value := range env {
		p.cmd.Env = append(p.cmd.Env, name+"="+value.Reveal())
	}
	return p, nil
}

// Start starts the process. If that fails, the process ends at once, and Diagnose says why.
func (p *process) Start(context.Context) error {
	go func() {
		r, err := program.Run(p.ctx, p.cmd)
		switch {
		case p.ctx.Err() != nil:
			err = errEnded
		case err == nil && r.Code < 0:
			err = errors.New("a signal ended it")
		case err == nil && r.Code > 128:
			err = fmt.Errorf("signal %d ended it", r.Code-128)
		case err == nil:
			err = fmt.Errorf("it ended with exit code %d", r.Code)
		}
		p.err = errors.Join(err, p.outEnd.Close(), p.errEnd.Close())
		close(p.done)
	}()
	return nil
}

var errEnded = errors.New("writ ended it")

// stop ends the process and removes what it had.
func (p *process) stop() error {
	p.kill()
	_ = p.stdout.Close() // nobody may read any more
	_ = p.stderr.Close()
	<-p.done
	if p.socket != nil {
		_ = p.socket.Close()
	}
	return errors.Join(p.box.Close(), p.dir.Close(), program.Remove(p.cmd.Dir))
}

// connect connects to the socket that was opened, whatever has its name by now. Paths of sockets have little room.
func (p *process) connect(ctx context.Context) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "unix", pathOf(p.socket))
}

// pathOf returns a path of an open file.
func pathOf(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }

// Stdout returns what the process prints: the handshake.
func (p *process) Stdout() io.ReadCloser { return p.stdout }

// Stderr returns its errors.
func (p *process) Stderr() io.ReadCloser { return p.stderr }

// Name returns the path of the executable.
func (p *process) Name() string { return p.path }

// ID is not empty.
func (p *process) ID() string { return p.path }

// Wait waits for the end.
func (p *process) Wait(context.Context) error {
	<-p.done
	return p.err
}

// Kill ends the process, first by SIGTERM.
func (p *process) Kill(context.Context) error {
	p.kill()
	return nil
}

// Diagnose says why the process ended, if it did.
func (p *process) Diagnose(context.Context) string {
	select {
	case <-p.done:
		return fmt.Sprint(p.err)
	default:
		return ""
	}
}

// openPath is O_PATH of Linux, which package syscall does not have.
const openPath = 0x200000

// PluginToHost opens the socket that the process offers, which is in its directory. The process could make a link there
// to the socket of another service, so that links are not followed.
func (p *process) PluginToHost(network, address string) (string, string, error) {
	name := strings.TrimPrefix(address, "./")
	if network != "unix" || name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return "", "", errors.New("it offers another address than a unix socket in its working directory")
	}
	var err error
	if p.socket, err = os.OpenFile(pathOf(p.dir)+"/"+name, openPath|syscall.O_NOFOLLOW, 0); err != nil {
		return "", "", fmt.Errorf("open the socket that it offers: %w", errors.Unwrap(err))
	}
	info, err := p.socket.Stat()
	if err == nil && info.Mode().Type() != fs.ModeSocket {
		err = errors.New("what it offers in its working directory is no socket")
	}
	return network, name, err
}

// HostToPlugin is for connections to this process, of which there are none.
func (p *process) HostToPlugin(string, string) (string, string, error) {
	return "", "", errors.New("plugins do not call writ")
}

// head passes on the beginning and drops the rest.
type head struct {
	to   io.Writer
	left int
}

func (h *head) Write(b []byte) (int, error) {
	part := b[:min(len(b), h.left)]
	h.left -= len(part)
	if len(part) > 0 {
		if _, err := h.to.Write(part); err != nil {
			h.left = 0
		}
	}
	return len(b), nil
}
