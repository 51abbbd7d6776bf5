package cli

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/writ-automation/writ/e2e/harness"
)

// onTerminal starts a command on a terminal of the given width. Its output is in out.
func (u user) onTerminal(columns uint16, args ...string) *process {
	u.t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		u.t.Fatal(err)
	}
	fd := int(master.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns})
	}
	if err != nil {
		u.t.Fatal(err)
	}
	slave, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		u.t.Fatal(err)
	}
	p := &process{t: u.t, cmd: u.command(args...), out: &screenText{}, err: &screenText{}, done: make(chan struct{}),
		keys: master}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = slave, slave, slave
	if err := p.cmd.Start(); err != nil {
		u.t.Fatal(err)
	}
	_ = slave.Close()
	go func() {
		defer close(p.done)
		_, _ = io.Copy(p.out, master) // ends when the last writer has closed the terminal
		_ = p.cmd.Wait()
	}()
	u.t.Cleanup(func() { _ = p.cmd.Process.Kill(); <-p.done; _ = master.Close() })
	return p
}

// types sends input to a command on a terminal.
func (p *process) types(text string) {
	p.t.Helper()
	if _, err := io.WriteString(p.keys, text); err != nil {
		p.t.Fatal(err)
	}
}

var (
	colour  = regexp.MustCompile("\x1b\\[[0-9;]*m")
	erasing = regexp.MustCompile("[^\n]*\r\x1b\\[K")
)

// seen returns the visible text of the terminal: without overwritten lines and colours.
func seen(raw string) string {
	s := colour.ReplaceAllString(strings.ReplaceAll(raw, "\r\n", "\n"), "")
	return erasing.ReplaceAllString(s, "")
}

// TestPlaybookOnATerminal checks the screen of a first playbook run with one failing host.
func TestPlaybookOnATerminal(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	p := userOf(t, s).onTerminal(80, append([]string{"run", "--extra-var", "break_host=web2"}, site(t)...)...)
	if code := p.end(); code != 1 {
		t.Errorf("exit %d", code)
	}
	raw := p.out.String()
	text := seen(raw)
	for _, want := range []string{
		`(?m)^● run_\w+ running$`, `(?m)^PLAY Common ground$`, `(?m)^  common : Directories +(\d+\.\d|\d+m\d\d)s  changed 3$`,
		`(?m)^TASK +store1 +web1 +web2$`, `(?m)^common : Warm up +rescued +ok +ok$`,
		`(?m)^web : Deployment, which can be told to fail +ok +failed$`, `(?m)^HOST +ok +changed +ignored +rescued +failed$`,
		`(?m)^web2 +\d+ +\d+ +1 +0 +1$`, `✗ web : Deployment, which can be told to fail\n  failed on 1 host: web2\n`,
		`(?m)^✗ run_\w+ failed in (\d+\.\d|\d+m\d\d)s, 3 hosts: `,
	} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	for _, line := range strings.Split(text, "\n") {
		if n := utf8.RuneCountInString(line); n > 80 && !strings.HasPrefix(line, "✗ run_") {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	for _, want := range []string{"\x1b[33mchanged", "\x1b[31mfailed", "\x1b[33mrescued"} {
		if !strings.Contains(raw, want) {
			t.Errorf("no %q", want)
		}
	}
}

// TestNoColour runs on a terminal with colours disabled.
func TestNoColour(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	p := userOf(t, s, "NO_COLOR=1").onTerminal(80, "run", "--tool", "bash", "--command",
		`printf '\033[31mred\033[0m \033[2Jgone\n'`)
	if code := p.end(); code != 0 {
		t.Errorf("exit %d", code)
	}
	if out := p.out.String(); strings.Contains(strings.ReplaceAll(out, "\r\x1b[K", ""), "\x1b") ||
		!strings.Contains(out, `red \x1b[2Jgone`) {
		t.Errorf("%q", out)
	}
}

// TestHostileNames runs a playbook whose names and messages contain terminal control characters.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	dir := harness.Shared(t)
	playbook := filepath.Join(dir, "play.yml")
	if err := os.WriteFile(playbook, []byte(`- name: "play \e]0;owned\a"
  hosts: all
  gather_facts: false
  tasks:
    - name: "wide 漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字 \e[2J\r\u202e"
      fail: {msg: "first\nsecond \e[1;1Hgone"}
`), 0o644); err != nil {
		t.Fatal(err)
	}
	u := userOf(t, s)
	p := u.onTerminal(60, "run", "--name", "a\x1b[2Jb", "--playbook", playbook, "--inventory", "localhost,")
	if code := p.end(); code != 1 {
		t.Errorf("exit %d", code)
	}
	list := u.onTerminal(80, "runs")
	list.end()
	one := u.onTerminal(80, "runs", firstRun(t, s))
	one.end()
	for _, out := range []string{p.out.String(), list.out.String(), one.out.String()} {
		rest := strings.NewReplacer("\r\x1b[K", "", "\r\n", "", "\x1b[0m", "").Replace(out)
		if rest = colour.ReplaceAllString(rest, ""); strings.ContainsAny(rest, "\x1b\r\a\u202e") {
			t.Errorf("control characters arrive: %q", rest)
		}
	}
	if !strings.Contains(p.out.String(), `    second \x1b[1;1Hgone`) || !strings.Contains(list.out.String(), `a\x1b[2Jb`) {
		t.Errorf("%s\n%s", p.out, list.out)
	}
}
