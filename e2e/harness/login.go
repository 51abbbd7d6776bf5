package harness

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"testing"
	"time"
)

// Home is the home directory of a user with a configuration of the command line.
type Home struct {
	t   testing.TB
	dir string
}

// NewHome makes one of a user without a keyring.
func NewHome(t testing.TB) Home {
	t.Helper()
	return Home{t: t, dir: t.TempDir()}
}

func (h Home) command(arg ...string) *exec.Cmd {
	h.t.Helper()
	cmd := exec.CommandContext(h.t.Context(), Binary(h.t), arg...)
	cmd.Env = append(os.Environ(), "HOME="+h.dir, "XDG_CONFIG_HOME="+h.dir, "DBUS_SESSION_BUS_ADDRESS=", "WRIT_SERVER=",
		"WRIT_TOKEN=", "WRIT_CONTEXT=")
	return cmd
}

// Writ runs a command to its end and returns all that it printed and its exit code.
func (h Home) Writ(arg ...string) (out string, code int) {
	h.t.Helper()
	cmd := h.command(arg...)
	raw, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		h.t.Fatal(err)
	}
	return string(raw), cmd.ProcessState.ExitCode()
}

// Browsing is a 'writ login' that waits for a browser.
type Browsing struct {
	Address string // what the browser opens
	Wait    func() (out string, code int)
}

var printedAddress = regexp.MustCompile(`http://\S+/auth/\S+`)

// Login begins a sign-in in the browser, and returns when the address is printed.
func (h Home) Login(arg ...string) Browsing {
	h.t.Helper()
	cmd, printed := h.command(append([]string{"login", "--no-browser"}, arg...)...), &lockedBuffer{}
	cmd.Stdout, cmd.Stderr = printed, printed
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	h.t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	b := Browsing{Wait: func() (string, int) { <-ended; return printed.String(), cmd.ProcessState.ExitCode() }}
	Eventually(h.t, 30*time.Second, "the address is printed", func() bool {
		text := printed.String()
		b.Address = printedAddress.FindString(text)
		return b.Address != "" && bytes.HasSuffix([]byte(text), []byte("\n"))
	})
	return b
}
