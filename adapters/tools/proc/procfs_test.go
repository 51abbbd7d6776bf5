package proc

import (
	"os/exec"
	"strings"
	"testing"
)

// TestMarkedWaitsForTheNewProgram checks which empty environments are final: that of a process which is still
// replacing its program is not, however long that takes.
func TestMarkedWaitsForTheNewProgram(t *testing.T) {
	t.Parallel()
	fields := "7 (go) R 1 7 7" + strings.Repeat(" 0", 15) + " 99" + strings.Repeat(" 0", 27) + " "
	for bounds, want := range map[string]bool{"0 0 0": false, "500 600 0": false, "500 500 0": true} {
		if s, err := parseStat([]byte(fields + bounds)); err != nil || s.start != 99 || s.bare != want {
			t.Errorf("environment at %s: %+v, %v", bounds, s, err)
		}
	}
	for want, env := range map[bool][]string{false: {RunIDVar + "=run_1"}, true: {}} {
		c := exec.Command("/bin/cat")
		c.Env = env
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		// The echo proves that the new program runs.
		if _, err := in.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		s, err := readStat(c.Process.Pid)
		if err != nil || s.bare != want || marked(s, "run_1") == want {
			t.Errorf("with the environment %q: %+v, %v", strings.Join(env, " "), s, err)
		}
		_ = in.Close()
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	}
}
